"""People whose names tell something stand as references in what is kept, and are the same person in every role all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard as command
from persons_kit import Home, living
from stores_kit import records
from votes_kit import LASTING
from wire_helpers import message

from guard import ApprovalError, ConversationError, GuardError, Session, ToolCall
from guard.core.names import Name, is_reference, real
from guard.core.persons import known, named
from guard.runner.erasing import Payloads
from guard.runner.worker import Worker
from guard.stores import open_store

POLICY = """
tools:
  look: {kind: read, allow: [staff], bind: {user: session.principal}, result: {keep: [user]}}
  pay:
    kind: action
    allow: [staff]
    approve: {by: [boss], need: 2, grants: [{scope: tool_here, uses: 5, until: 1d}]}
"""
KIM = Session(principal="kim.doe@example.com", roles=("staff", "boss"))
ANN, BOB = (Session(principal=f"{name}@example.com", roles=("boss",)) for name in ("ann", "bob"))


class House(Home):
    """A guard on a store that others open too."""

    def __init__(self, folder: Path, url: str) -> None:
        self.seen, self.paid = list[str](), 0
        super().__init__(folder, url, POLICY, {"look": self.look, "pay": self.pay})

    def look(self, user: str) -> dict[str, str]:
        self.seen.append(user)
        return {"user": user}

    def pay(self, amount: int) -> str:
        self.paid += 1
        return "paid"

    def asked(self, who: Session = KIM, guard: Any = None, conversation: str = "c") -> Any:
        """The approval that a call of this person waits for."""
        chat = (guard or self.guard).open(who, wire="openai-chat", conversation=conversation)
        [found] = chat.handle(message("openai-chat", ("p", "pay", '{"amount": 1}'))).pending
        return found

    def votes(self, question: Any, *people: Session) -> Any:
        for one in people:
            question = self.guard.approvals.approve(question, approver=one)
        return question


@pytest.fixture(params=LASTING)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    yield from living(request.param, tmp_path, House)


def refused(house: House, question: Any, who: Session) -> str:
    with pytest.raises(ApprovalError) as caught:
        house.guard.approvals.approve(question, approver=who)
    return caught.value.code


def test_the_same_person_in_every_role(house: House) -> None:
    """Kept under a reference, known by the real name to whoever decides; never one's own approver, and counted once."""
    question = house.asked()
    assert is_reference(question.requester)
    assert real(question.requester) == KIM.principal
    [listed] = house.guard.approvals.list()
    assert (listed.requester, real(listed.requester)) == (question.requester, KIM.principal)
    assert house.guard.approvals.view(question, ANN).document["requester"]["name"] == KIM.principal
    assert refused(house, question, KIM) == "own"
    house.votes(question, ANN)
    assert refused(house, question, ANN) == "voted"
    done = house.votes(question, BOB)
    assert done.status == "approved"
    assert [real(vote.by) for vote in house.guard.approvals.show(done.id).votes] == [ANN.principal, BOB.principal]


def test_the_policy_and_bound_fields_have_the_real_name(house: House) -> None:
    """The tool gets the name that the host signed in; no record has it."""
    house.guard.call(ToolCall("l", "look", {}), KIM, conversation="c")
    assert house.seen == [KIM.principal]
    assert not any(KIM.principal in one.body for one in records(house.guard.store))


def test_a_conversation_stays_its_owners(house: House) -> None:
    """The same person finds it again, nobody else does: not even one who is called what the reference is."""
    chat = house.guard.open(KIM, wire="openai-chat", conversation="c")
    assert house.guard.open(KIM, wire="openai-chat", conversation="c").ref == chat.ref
    for other in (ANN.principal, str(chat.ref.principal)):
        with pytest.raises(ConversationError):
            house.guard.open(Session(principal=other, roles=("staff",)), wire="openai-chat", conversation="c")


def test_a_worker_acts_for_the_real_person(house: House) -> None:
    """The host's loader is asked for the name that it knows; whoever it gives for another name does not act."""
    house.votes(house.asked(), ANN, BOB)
    asked: list[tuple[str, str]] = []

    def who(principal: str, tenant: str) -> Session:
        asked.append((principal, tenant))
        return KIM if len(asked) > 1 else ANN

    assert [one.outcome for one in Worker(house.guard, who, grace=0).once()] == [None]
    house.clock.now += 60
    assert [one.outcome.status for one in Worker(house.guard, who, grace=0).once() if one.outcome] == ["done"]
    assert set(asked) == {(KIM.principal, "default")}
    assert house.paid == 1


def test_votes_count_for_people_whom_the_host_knows_today(house: House) -> None:
    """`guard.session` is asked for real names, also in the store's own transaction; who left does not count."""
    here = {one.principal: one for one in (KIM, ANN, BOB)}
    house.guard.session(lambda principal, _tenant: here.get(principal))
    question = house.votes(house.asked(), ANN)
    del here[ANN.principal]
    assert house.votes(question, BOB).status == "pending"


def test_grants_are_found_by_the_name(house: House) -> None:
    """Given by people and for one, under references; listed by the name that was typed."""
    question = house.votes(house.asked(), ANN, BOB)
    for one in (ANN, BOB):
        house.guard.grants.give(question, by=one, scope="tool_here")
    [grant] = house.guard.grants.list(principal=KIM.principal)
    assert is_reference(grant.principal)
    assert [real(giver.by) for giver in grant.givers] == [ANN.principal, BOB.principal]
    house.guard.open(KIM, wire="openai-chat", conversation="c").settled()
    assert house.guard.call(ToolCall("g", "pay", {"amount": 2}), KIM, conversation="c").status == "done"


def test_what_an_older_program_wrote_goes_on(house: House) -> None:
    """Names that stand as they are: the owner finds the conversation, may not approve their own call, and nobody votes twice."""
    question = house.asked(guard=house.blind(), conversation="old")
    assert question.requester == KIM.principal
    assert house.guard.open(KIM, wire="openai-chat", conversation="old").ref.principal == KIM.principal
    assert refused(house, question, KIM) == "own"
    house.blind().approvals.approve(question, approver=ANN)
    assert refused(house, question, ANN) == "voted"
    assert house.votes(question, BOB).status == "approved"
    with pytest.raises(ApprovalError):
        house.blind().approvals.approve(house.asked(), approver=KIM)


def test_names_of_conversations_and_keys(house: House) -> None:
    """A conversation named by an address is found by it again; so is a key, which repeats nothing."""
    question = house.asked(conversation="whatsapp:+49 170 1234567")
    assert "1234567" not in question.conversation
    assert [one.id for one in house.guard.approvals.list(conversation="whatsapp:+49 170 1234567")] == [question.id]
    first, again = (house.guard.call(ToolCall("k", "look", {}), KIM, conversation="c", key="for a@example.com") for _ in "12")
    assert (first.replayed, again.replayed) == (False, True)


def test_what_is_erased_is_nobodys_name(house: House) -> None:
    """Erased by the typed name, with everything else of the conversation: the reference stands, whom it means is not known any more."""
    house.guard.approvals.reject(house.asked(), approver=ANN)
    house.guard.open(KIM, wire="openai-chat", conversation="c").settled()
    payloads = Payloads(house.guard.store, house.guard.redactor)
    homes = payloads.of(KIM.principal)
    assert homes == (("default", "c"),)
    assert payloads.erase(homes[0], who="ops@example.com", reason="request").anything
    [left] = house.guard.approvals.list(status=None)
    assert [named(name) for name in (left.requester, left.votes[0].by)] == [None, None]
    assert not any("@" in one.body for one in records(house.guard.store))


def test_a_tenant_is_named_by_something_that_tells_nothing(house: House) -> None:
    """It stands in every record and in the policy: refused where it opens, with the cure."""
    with pytest.raises(GuardError, match="opaque id"):
        house.guard.open(replace(KIM, tenant="kim.doe@example.com"), wire="openai-chat", conversation="c")


def test_names_that_tell_nothing_stay(house: House) -> None:
    """A plain id is kept as it is; the reference of it means the same person."""
    ann = known(house.guard.redactor, Session(principal="u-17"))
    assert ann.who == "u-17"
    assert all(map(ann.means, ann.names))
    assert not ann.means("u-18")
    assert isinstance(ann.names[1], Name)


def test_the_command_line_finds_people_by_what_is_typed(tmp_path: Path) -> None:
    """`--person`, `--principal`, `--approved-by` and `--conversation` take the real names; what is shown has the references."""
    house = House(tmp_path, f"sqlite:///{tmp_path}/guard.db")
    question = house.asked(conversation="for kim.doe@example.com")
    house.votes(question, ANN)
    house.guard.close()
    counts = {
        option: len(command("audit", "--json", *option, cwd=tmp_path).out.splitlines())
        for option in (
            ("--person", KIM.principal),
            ("--principal", KIM.principal),
            ("--approved-by", ANN.principal),
            ("--conversation", "for kim.doe@example.com"),
            ("--person", "Kim.Doe@Example.com"),
            ("--person", BOB.principal),
        )
    }
    assert list(counts.values()) == [5, 5, 1, 5, 5, 0], counts
    shown = command("audit", cwd=tmp_path)
    assert "@" not in shown.out + shown.err
    with closing(open_store(house.url)) as store:
        assert Payloads(store, house.guard.redactor).named("for kim.doe@example.com")
