"""Records of beginnings: an action was taken and is about to run: durable before the act. Comes after audit, whose heads they share; pure."""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.audit import POLICY, head_of, name_of, names_of, of, under
from guard.core.commitments import of_arguments
from guard.core.model import Allow, Approval, CallKey
from guard.core.ports import Event, Redactor
from guard.core.rowed import key_shown
from guard.core.values import quote

NUL = "\0"


@dataclass(frozen=True, slots=True)
class Taken:
    """How an action is taken: which attempt it is, its idempotency key (`idem`, of the guard), for how many seconds its taker is believed to be at it."""

    attempt: int = 1
    idem: str = ""
    lease: float = 0.0

    def members(self, redactor: Redactor) -> str:
        """What a record says of it. Of the key that the tool gets it holds a digest: whoever finds the key in a provider's log finds the record."""
        idem = f',"idem":"{key_shown(redactor.derive(f"guard-idempotency-v1{NUL}{self.idem}"))}"' if self.idem else ""
        lease = f',"lease":{self.lease:g}' if self.lease else ""
        return f'"attempt":{self.attempt},"fence":{self.attempt}{idem}{lease}'


_FIRST = Taken()


def began(
    key: CallKey, allow: Allow, policy: str, redactor: Redactor, taken: Taken = _FIRST, salt: str = "", beside: str = ""
) -> Event:
    """The call was taken and is about to run: durable before the act."""
    valid = allow.call.valid
    head = head_of("call.begin", key, name_of(valid.call.id, redactor), POLICY, of(valid.tool))
    spent = f',"approval":"{allow.approval.id}"{_again(allow.approval, policy)}' if allow.approval else under(allow)
    execution = f'"exec":{{"class":"{valid.tool.effect}",{taken.members(redactor)}}}'
    return (
        f'{head}{spent},"args":{{"digest":"{of_arguments(valid, salt)}"}},"decision":{{"policy":"{policy}"}},{execution}{beside}'
    )


def _again(approval: Approval, policy: str) -> str:
    """Under which policy people were asked, and that today's lets the call run as well."""
    changed = names_of(("policy",) if approval.policy != policy else ())
    return f',"revalidation":{{"policy_then":{quote(approval.policy)},"policy_now":"{policy}","changed":{changed}}}'
