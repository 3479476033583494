"""Columns: what stands under a name that says phone is judged here: a number to dial, or a date, a decimal, an amount or a count.

A cell counts only where all of it is a number as people write them: with a nought, a plus or a bracket first, in groups, or of nine digits. Pure;
part of `phone`, where the names are.
"""

from __future__ import annotations

import re

from guard.redactors.keys import word_list

_WHOLE = re.compile(r"\(?\+?[0-9](?:[ ./()-]{0,3}[0-9]){6,14}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?")
_DATE = re.compile(r"(?:19|20)[0-9]{2}([-./ ])[0-9]{1,2}[-./ ][0-9]{1,2}|[0-9]{1,2}[-./ ][0-9]{1,2}[-./ ](?:19|20)[0-9]{2}")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]{1,2}|[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,3}")
_AMOUNT = re.compile("[1-9][0-9]{0,2}(?: [0-9]{3}){2}")
_DEVICES = frozenset({"mobile", "mobiles", "cell", "cells", "handy", "gsm"})
_LEAST, _COUNTED = 9, 10  # digits of a number without any sign; under the name of a device may stand how many had one


def dialled(name: str, value: str) -> bool:
    """Whether a cell under such a name is a number to dial."""
    if _WHOLE.fullmatch(value) is None or _DATE.fullmatch(value) is not None or _DECIMAL.fullmatch(value) is not None:
        return False
    plain = value.isdigit() or _AMOUNT.fullmatch(value) is not None
    least = _COUNTED if _DEVICES.issuperset(word_list(name)) else _LEAST
    return not plain or value[0] == "0" or sum(map(str.isdigit, value)) >= least
