"""Keys: the words in a field's name, however it is spelled.

`userPhoneNumber`, `user_phone-number` and `USER PHONE NUMBER` hold the same words. A key holds the names of the objects around a field as well: what
makes a value telling counts from any of them, what makes it ordinary mostly from the nearest. Pure; used by detectors that let the key decide.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from guard.core.redaction import BELOW, read
from guard.redactors.languages import PASSWORDS, PHONES, bare

_GLUED = re.compile("[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u9fff\uac00-\ud7af]")
UNSPACED = (
    *("密码", "口令", "手机", "手機", "电话", "電話", "联系方式", "身份证", "身份證", "证件号", "社会安全号码"),
    *("주민등록번호", "주민번호", "외국인등록번호", "आधार", "บัตรประชาชน", "ประจำตัวประชาชน"),
    *("fødselsnummer", "sécurité sociale"),
    *(word for word in (*PASSWORDS, *PHONES) if _GLUED.match(word)),
)
"""Words that detectors know and that are written together with others: they tell where a name ends with them, or with a word for number behind."""
_UNSPACED = re.compile(f"({'|'.join(UNSPACED)})(?:号码|號碼|番号|号|號|码|碼)?")
_LAST = frozenset({"key", "keys", "pass", "pw", "passe"})
_WORD = re.compile("(?P<head>[A-Z]*)(?P<word>[A-Z][a-z]+)|[A-Z]+|[a-z]+|[0-9]+|[^\x00-\x7f]+")


@lru_cache(maxsize=4096)
def word_list(key: str) -> tuple[str, ...]:
    """The words of a key in order, in lower case, and those of `UNSPACED`. Of a very long one the beginning and the end are read."""
    text = read(key)
    return tokens(text) if text.isascii() else (*tokens(text), *_unspaced(text.lower()))


def _unspaced(text: str) -> list[str]:
    return [match[1] for match in _UNSPACED.finditer(text) if not text[match.end() : match.end() + 1].isalpha()]


def names_of(key: str) -> list[str]:
    """The names that a key is made of, from the outermost to that of the value itself."""
    return read(key).split(BELOW)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a short text in order, in lower case and without accents; nothing is remembered."""
    return parted(bare(text))


def parted(text: str) -> tuple[str, ...]:
    """The same where whatever is no letter of ASCII parts two words, as the engines that search bytes see it."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        if match["head"]:  # HTTPServer: the last capital belongs to the second word
            found += (match["head"].lower(), match["word"].lower())
        else:
            found.append(match.group().lower())
    return tuple(found)


@lru_cache(maxsize=4096)
def words_of(key: str) -> frozenset[str]:
    """The words of a key, and what stands before a word like `key` or `pass` written together with it: `api_key` also holds `apikey`."""
    words = word_list(key)
    found = {f"{left}{'key' if right == 'keys' else right}" for left, right in pairwise(words) if right in _LAST}
    return frozenset(words) | found
