"""`guard demo`: the travel-expense assistant from question to audit, guarded, on real HTTP with SQLite; and the attacks on it."""

from __future__ import annotations

import argparse
import sys
from typing import TextIO

from guard.cli.asking import Supervisor
from guard.cli.records import Entry, entries, of_conversation, table_lines, verdict_line
from guard.cli.show import json_text, spell
from guard.cli.telling import Aloud, Quiet
from guard.cli.travel.attack import attack
from guard.cli.travel.episode import SCRIPT, load_episode, script_of
from guard.cli.travel.play import Played, play
from guard.cli.travel.report import round_json
from guard.cli.travel.stage import Stage, stage
from guard.stores.chain import Verified

EXAMPLES = """examples:
  guard demo                  four rounds; you are asked to approve as the supervisor
  guard demo --yes            the same, approved without asking
  guard demo --attack         seven proposals that must not get through
  guard demo --yes --json     for a program
  guard demo --keep out       keep the store, then: guard audit --store sqlite:///out/guard.db

Without a terminal and without --yes nobody can approve: the call stays held, nothing is filed, and the exit code is 1 (with --json the
object is printed all the same, and `answer` is null). A rejection gives exit code 1 as well. --attack answers by itself, since it shows
what happens before and after the yes. No network but 127.0.0.1 is used."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="play the travel-expense assistant, guarded",
        description="Play four rounds of a travel-expense assistant against a scripted local model, guarded by the shipped policy.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="answer the supervisor's question with yes")
    parser.add_argument("--attack", action="store_true", help="play the proposals that must not get through")
    parser.add_argument("--json", action="store_true", help="JSON instead of text; a question goes to stderr")
    parser.add_argument("--keep", metavar="DIR", help="keep the store in DIR/guard.db instead of a temporary folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when the supplement was not filed, or when an attack got through."""
    if arguments.attack:
        return attack(as_json=arguments.json, keep=arguments.keep)
    with stage({SCRIPT: script_of(load_episode())}, arguments.keep) as here:
        conversation = here.conversation("demo")
        chat = here.guard.open(here.session, wire="openai-chat", conversation=conversation, held="suspend")
        opening = here.episode["messages"]
        supervisor = Supervisor(stage=here, yes=arguments.yes, stream=_questions(as_json=arguments.json))
        teller = Quiet() if arguments.json else Aloud(here, conversation)
        if isinstance(teller, Aloud):
            teller.begin(opening[-1]["content"])
        played = play(chat, here.model(SCRIPT), opening, supervisor.decide, teller)
        found, verified = entries(here.guard.store)
        if arguments.json:
            print(_json(played, here, verified))
        else:
            _tell_end(of_conversation(found, conversation), verified)
        if played.answer is None:
            _tell_held(here, kept=arguments.keep is not None)
    filed = here.desk.executions["createExpenseSupplement"] == 1
    return 0 if filed and played.answer is not None and verified.ok else 1


def _questions(*, as_json: bool) -> TextIO | None:
    """Where the approval and the question are shown."""
    if not as_json:
        return sys.stdout
    return sys.stderr if sys.stdin.isatty() else None


def _json(played: Played, here: Stage, verified: Verified) -> str:
    return json_text(
        {
            "rounds": [round_json(one) for one in played.rounds],
            "answer": played.answer,
            "executions": dict(here.desk.executions),
            "audit": {"records": verified.records, "verified": verified.ok},
        }
    )


def _tell_end(found: list[Entry], verified: Verified) -> None:
    print("\nThe audit")
    for line in table_lines(found, indent="  "):
        print(line)
    print(f"  {verdict_line(verified)}")


def _tell_held(here: Stage, *, kept: bool) -> None:
    """How somebody can answer after all."""
    sys.stdout.flush()
    print("guard: held: nobody was there to approve, and nothing was filed.", file=sys.stderr)
    print("guard: run it in a terminal to answer, or answer with: guard demo --yes", file=sys.stderr)
    if kept:
        where = f"--policy {spell(str(here.folder))} --store {spell(here.store)}"
        print(f"guard: the held call can be looked at with: guard approvals list {where}", file=sys.stderr)
