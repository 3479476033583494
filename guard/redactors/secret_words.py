"""Secret words: those of a text that only speaks of a secret: types, states, labels, what is wrong with one; and what stands before `pass` in a name.

Data, and the two questions about it. Pure; comes before `secret_keys`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_LISTS: Final = {
    "types": "string str text integer int number boolean bool bytes object array any undefined nil void varchar char secretstr optional required mandatory"
    " missing invalid incorrect unknown blank unset nullable deprecated keyword identifier opaque encrypted hashed masked",
    "talk": "null valid wrong correct expired changed updated reset empty set not configured plain plaintext present absent none yes no true false on off"
    " enabled disabled ok error failed denied ignored default custom auto basic bearer header query cookie body include omit same origin admin user username"
    " login email phone name id key keys value values type the a an your my is are was and or of for to in with here enter new old confirm current forgot"
    " change please api access auth client public private refresh session format length min max minimum maximum characters chars field column description"
    " test example sample see below above docs todo tbd literal variable prompt read write only needed used unused supported unsupported unique primary"
    " foreign index rotated revoked active inactive pending sent created deleted found manager service server rotation reuse policy encoded encoding hidden",
    "says": "required must should invalid incorrect too least field missing blank empty match expired wrong contain contains characters cannot forgot mismatch",
    "before": "db database sql mysql postgres pg redis mongo smtp imap mail email ftp sftp ssh ldap http proxy auth login user admin root sudo server service"
    " account app api client wifi vpn rabbitmq amqp mqtt keystore truststore basic default my",
    "about": "file files path ref refs arn store provider class column columns field fields label title description format regex pattern rule rules service"
    " manager holder owner version algorithm algo cost strength generator validator encoder issuer audience uri host age date days time timeout ttl lifetime"
    " expiration size bytes budget price contract mint pair bucket",
}
_TYPES, _MORE, _SAYS, _BEFORE, ABOUT_IT = (frozenset(words.split()) for words in _LISTS.values())
"""`ABOUT_IT`: words of a name in a text that is about a secret."""
_TALK = _TYPES | _MORE
PASSES = frozenset(f"{word}{end}" for word in _BEFORE for end in ("pass", "pw"))
"""Names that say password, written together."""
_WORD = re.compile("[A-Za-z]+")
_MOST = 200


def spoken(text: str, names: Collection[str]) -> bool:
    """Whether all words of a short text only speak of a secret, or it is a sentence about one; `names` are those that say secret."""
    words = _words(text)
    if not words:
        return False
    if not any(map(str.isdigit, text)) and all(word in _TALK or word in names for word in words):
        return True
    return _sentence(text, words)


def described(text: str, names: Collection[str]) -> bool:
    """Whether what a field holds can only be its type, or a sentence about what is wrong with it."""
    if text.isalpha() or len(text) > _MOST:
        return len(text) <= _MOST and text.lower() in _TYPES
    words = _words(text) if " " in text else []
    if not words:
        return False
    typed = any(word in _TYPES for word in words)
    return _sentence(text, words) or (typed and all(word in _TYPES or word in names for word in words))


def _words(text: str) -> list[str]:
    """The words of a short text that has little else."""
    if len(text) > _MOST:
        return []
    words = _WORD.findall(text.lower())
    return words if len(text) - sum(map(len, words)) <= 2 + 2 * len(words) else []


def _sentence(text: str, words: list[str]) -> bool:
    return len(words) > 2 and " " in text and not _SAYS.isdisjoint(words)
