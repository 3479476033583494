"""Cookies of a session under keys that name cookies, as in maps of headers: hidden as in a header that stands in a text."""

from __future__ import annotations

from typing import Any

import pytest
from test_redactors_beside import BOTH, FORMS, IDS, formed

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.values import encode

ID = "38afes7a8bc12"
HIDDEN: dict[str, tuple[Any, str]] = {
    "set": ({"Set-Cookie": f"sessionid={ID}; HttpOnly; Path=/"}, "sessionid=[secret]; HttpOnly; Path=/"),
    "sent": ({"Cookie": f"theme=dark; session={ID}; lang=en"}, "theme=dark; session=[secret]; lang=en"),
    "small letters": ({"headers": {"set_cookie": f"sid={ID}"}}, "sid=[secret]"),
    "several": ({"Set-Cookie": [f"sid={ID}; Secure", "theme=dark"]}, "sid=[secret]; Secure"),
    "a name beside": ({"headers": [{"name": "Cookie", "value": f"sid={ID}"}]}, "sid=[secret]"),
    "pairs": ([["Accept", "text/html"], ["Cookie", f"sid={ID}"]], "sid=[secret]"),
    "by name": ({"cookies": {"theme": "dark-mode-1", "sessionid": ID}}, "[secret]"),
    "a jar": ({"cookies": [{"name": "sessionid", "value": ID, "domain": "x.example"}]}, "[secret]"),
    "one": ({"session_cookie": ID}, "[secret]"),
    "in a text": ([f'sent {{"Set-Cookie": "sessionid={ID}"}} at 7'], "sessionid=[secret]"),
    "beside an address": ({"Cookie": f"sid={ID}; user=kim@example.com"}, "sid=[secret]; user=[email]"),
}
KEPT: dict[str, Any] = {
    "tastes": {"cookies": {"theme": "dark-mode-1", "lang": "en-GB-2024"}},
    "a taste": {"Set-Cookie": "theme=dark12345678; Path=/"},
    "food": {"cookie": "chocolate chip 12345678", "cookies": 3},
    "consent": {"cookie_consent": "accepted2024yes", "cookie_count": "12345678"},
    "an age": {"Set-Cookie": "session_expires=20261201T000000; Path=/", "session_cookie_max_age": "86400000"},
    "a session that is no cookie": {"session": ID},
    "hidden before": {"Cookie": "sid=[secret]; theme=dark"},
}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", HIDDEN)
def test_a_cookie_of_a_session_is_hidden(name: str, form: str, one: Redactor) -> None:
    """And nothing else of its header; at any depth, and in JSON inside texts."""
    value, expected = HIDDEN[name]
    shown = hide(formed(value, form), one, set())
    assert ID not in encode(shown)
    assert form == "base64" or expected in encode(shown).replace("\\", "")
    assert hide(shown, one, set()) == shown


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KEPT)
def test_other_cookies_stay(name: str, form: str, one: Redactor) -> None:
    """Tastes, consents, times, and what is only called so."""
    value = formed(KEPT[name], form)
    assert hide(value, one, set()) is value
