"""JSON from outside is read exactly or not at all, wherever it comes in: no reader lets another exception through."""

from __future__ import annotations

from decimal import Decimal

import pytest

from guard.core.values import encode, read_json
from guard.integrations.mcp.messages import UnfitError, read

UNFIT = {
    "cut": '{"a": ',
    "a key twice": '{"a": 1, "a": 2}',
    "a key twice inside": '[{"a": {"b": 1, "b": 2}}]',
    "no number": "[NaN]",
    "endless": "[-Infinity]",
    "an exponent beyond all": "[1e99999999999999999999]",
    "too many digits": f"[{'1' * 5000}]",
    "nested without end": "[" * 100_000,
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_readers_may_read_differently_is_refused(name: str) -> None:
    """With one kind of exception, which every caller waits for."""
    with pytest.raises(ValueError):
        read_json(UNFIT[name])


def test_digits_stay() -> None:
    """Numbers come out with the digits that they came in with."""
    text = '{"a":1.10,"b":18446744073709551616,"c":[1E+2,-0.0]}'

    assert read_json(text)["a"] == Decimal("1.10")
    assert encode(read_json(text)) == text


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("strict", [True, False])
def test_a_message_of_mcp_that_is_unfit_is_told_as_one(name: str, strict: bool) -> None:
    """No line of a client or server ends the session by an exception of its own."""
    line = f'{{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {UNFIT[name]}}}'.encode()
    if strict or "twice" not in name:
        with pytest.raises(UnfitError) as error:
            read(line, strict=strict)
        assert error.value.request == (7 if "exponent" in name else error.value.request)
    else:
        assert read(line, strict=False)["id"] == 7
