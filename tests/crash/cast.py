"""Cast: the guard of one process, its tools and its probes, and how its host plays a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crash import scene, targets
from crash.seams import Dice, Naive, Seams
from guard import Guard, Session
from guard.errors import ApprovalError
from guard.runner.worker import Worker
from guard.stores import open_store


class Stage:
    """What the tools of this process act upon. Compiled once with its policy, equipped in each process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dice: Dice
        self.target: targets.Deduping
        (folder / "tools.yaml").write_text(scene.POLICY)
        tools = {name: self._once(name) if kind == "once" else self._keyed(name) for name, kind in scene.CLASS.items()}
        probes = {name: self._knows for name, kind in scene.CLASS.items() if kind == "probe"}
        self.plan = Guard.load(folder, tools={"look": _look, **tools}, store="memory://", probes=probes)

    def equip(self, url: str, dice: Dice, *, naive: bool) -> Guard:
        """The guard of this process, on the shared store."""
        self.dice, self.target = dice, targets.Deduping(self.folder)
        store = open_store(url)
        wrapped = Seams(Naive(store) if naive else store, dice)
        plan = self.plan
        return Guard(policy=plan.policy, store=wrapped, tools=plan.hands.tools, redactor=plan.redactor, probes=plan.hands.probes)

    def _once(self, name: str) -> Any:
        def tool(n: int) -> Any:
            self._before(name, n, "-")
            targets.write(self.folder, "effect", n)
            self.dice.seam("in the tool, after the effect")
            return {"n": n}

        return tool

    def _keyed(self, name: str) -> Any:
        def tool(n: int, idempotency_key: str) -> Any:
            self._before(name, n, idempotency_key)
            self.target.act(idempotency_key, n)
            self.dice.seam("in the tool, after the effect")
            return {"n": n}

        return tool

    def _before(self, name: str, number: int, key: str) -> None:
        targets.write(self.folder, "invoke", number, name, key)
        self.dice.seam("in the tool, before the effect")
        self.dice.pause()

    def _knows(self, key: str) -> bool:
        self.dice.seam("in the probe")
        return self.target.knows(key)


def _look(n: int) -> Any:
    return {"n": n}


class Host:
    """A program that keeps its messages on disk and drives conversations through the guard."""

    def __init__(self, stage: Stage, guard: Guard, seed: int) -> None:
        self.folder, self.dice, self.guard, self._seed = stage.folder, stage.dice, guard, seed
        self._worker = Worker(
            guard, lambda principal, tenant: Session(principal=principal, tenant=tenant, roles=("employee",)), grace=0.2
        )

    def open(self, talk: scene.Talk) -> Any:
        """The conversation's chat; the user's first words are in the messages."""
        chat = self.guard.open(scene.EMPLOYEE, wire=scene.WIRE, conversation=scene.name_of(talk.number))
        if not talk.messages:
            talk.messages.append(chat.user("go"))
            talk.save(self.folder)
        return chat

    def play(self, number: int, *, crashed: bool) -> None:
        """Bring one conversation to its end, from where it was saved. `crashed`: the process that had it is gone."""
        talk = scene.talk_at(self.folder, number)
        chat = self.open(talk)
        self.settle(chat, talk)
        while talk.turn < scene.TURNS:
            reply = scene.reply(scene.calls_of(self._seed, number, talk.turn))
            if crashed and scene.resumes(number):
                talk.messages = chat.resume([*talk.messages, reply])
            else:
                talk.messages += chat.handle(reply, history=talk.messages).append
            crashed = False
            self.dice.seam("before the messages are saved")
            talk.turn += 1
            talk.save(self.folder)
            self.settle(chat, talk)
        talk.done = True
        talk.save(self.folder)

    def proposed(self, number: int) -> list[tuple[str, int]]:
        """Tool and number of every call of one conversation."""
        turns = (scene.calls_of(self._seed, number, turn) for turn in range(scene.TURNS))
        return [(tool, n) for calls in turns for _, tool, n in calls]

    def settle(self, chat: Any, talk: scene.Talk) -> None:
        """The boss says yes to what waits, and what was decided runs."""
        for asked in self.guard.approvals.list(conversation=scene.name_of(talk.number)):
            try:
                self.guard.approvals.approve(asked, approver=scene.BOSS)
            except ApprovalError as error:
                if error.code != "already_decided":
                    raise
        said = chat.settled()
        self.dice.seam("before the messages are saved")
        if said:
            talk.messages += said
            talk.save(self.folder)

    def meddle(self, slots: int) -> None:
        """What others do meanwhile: a worker looks after lost and approved calls; a client sends a reply once more."""
        chance = self.dice.random.random()
        if chance < 0.4:
            self._worker.once()
        elif chance < 0.8:
            self._again(self.dice.random.randrange(slots))

    def _again(self, slot: int) -> None:
        path = self.folder / f"slot-{slot}"
        talk = scene.talk_at(self.folder, int(path.read_text())) if path.exists() else None
        if talk is None or talk.done or talk.turn >= scene.TURNS or not talk.messages or scene.resumes(talk.number):
            return
        reply = scene.reply(scene.calls_of(self._seed, talk.number, talk.turn))
        self.open(talk).handle(reply, history=talk.messages)
