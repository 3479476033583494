"""Formats: what a text must look like for JSON Schema's `format`, asserted.

One function a format, standard library only; formats that are not in the table are asked of jsonschema's own checker when the extra
`formats` is installed. Pure and total: a judge says whether a text fits. To add a format, add one function and one row to `FORMATS`.
Comes before dialects and conditions.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date

Fits = Callable[[str], bool]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|([+-])([0-9]{2}):([0-9]{2}))")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf'{_ATOM}(?:\.{_ATOM})*|"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"')
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PCHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"
_AUTHORITY = (
    r"(?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?(?=[/?#]|\Z))?"
)
_URI_REFERENCE = re.compile(rf"(?:[A-Za-z][A-Za-z0-9+.-]*:)?{_AUTHORITY}{_PCHAR}*(?:\#{_PCHAR}*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*", re.DOTALL)
_DURATION = re.compile(
    r"P(?!\Z)(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)?"
    r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?)"
)


def is_date(value: str) -> bool:
    """RFC 3339 full-date, a day that exists."""
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_time(value: str) -> bool:
    """RFC 3339 full-time with an offset; a leap second only at 23:59:60 UTC."""
    match = _TIME.fullmatch(value)
    if match is None:
        return False
    hour, minute, second = int(match[1]), int(match[2]), int(match[3])
    off_hour, off_minute = int(match[5] or 0), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or off_hour > 23 or off_minute > 59:
        return False
    shift = (off_hour * 60 + off_minute) * (-1 if match[4] == "-" else 1)
    return second < 60 or (hour * 60 + minute - shift) % 1440 == 1439


def is_date_time(value: str) -> bool:
    """RFC 3339 date-time: a date, T, and a time with an offset."""
    return value[10:11] in {"T", "t"} and is_date(value[:10]) and is_time(value[11:])


def is_duration(value: str) -> bool:
    """RFC 3339 appendix A duration."""
    return bool(_DURATION.fullmatch(value))


def is_email(value: str) -> bool:
    """RFC 5321 mailbox: a local part, @, and a host name or an address literal."""
    local, _, domain = value.rpartition("@")
    if not _LOCAL.fullmatch(local):
        return False
    if domain.startswith("[IPv6:"):
        return domain.endswith("]") and is_ipv6(domain[6:-1])
    return is_ipv4(domain[1:-1]) if domain.startswith("[") and domain.endswith("]") else is_hostname(domain)


def is_ipv4(value: str) -> bool:
    """Four decimal numbers without leading zeros."""
    return bool(_IPV4.fullmatch(value))


def is_ipv6(value: str) -> bool:
    """RFC 4291 text form without a zone."""
    if "%" in value or not value.isascii():
        return False
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return False
    return True


def is_hostname(value: str) -> bool:
    """RFC 1123 host name of at most 253 characters; labels of at most 63."""
    return len(value) <= 253 and bool(_HOST.fullmatch(value))


def is_uri(value: str) -> bool:
    """RFC 3986 URI with a scheme."""
    return bool(_SCHEME.match(value)) and is_uri_reference(value)


def is_uri_reference(value: str) -> bool:
    """RFC 3986 URI or relative reference."""
    return bool(_URI_REFERENCE.fullmatch(value))


def is_uuid(value: str) -> bool:
    """RFC 4122 text form with its hyphens."""
    return bool(_UUID.fullmatch(value))


def is_regex(value: str) -> bool:
    """A regular expression that can be compiled; anchors that JSON Schema's dialect lacks make it none."""
    if re.search(r"(?<!\\)(?:\\\\)*\\[ZaA]", value):
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def is_json_pointer(value: str) -> bool:
    """RFC 6901 JSON Pointer."""
    return bool(_POINTER.fullmatch(value))


FORMATS: Mapping[str, Fits] = {
    "date": is_date,
    "time": is_time,
    "date-time": is_date_time,
    "duration": is_duration,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "json-pointer": is_json_pointer,
    "regex": is_regex,
    "uri": is_uri,
    "uri-reference": is_uri_reference,
    "uuid": is_uuid,
}

ANNOTATIONS = frozenset({"password", "binary", "byte", "int32", "int64", "float", "double", "textarea", "color", "uuid4", "path"})
"""Formats from other dialects (OpenAPI, pydantic) that constrain nothing here and deserve no warning."""
