"""Languages: what a password and a phone number are called in others than English and Chinese.

Data only. Each word stands here once; from it come the words of keys, which are read without accents, and the spellings that a text is searched for, each
by itself since both engines search bytes. A language is added here and nowhere else.
"""

from __future__ import annotations

import unicodedata

_PASSWORDS = [
    "contraseña",
    "contraseñas",
    "senha",
    "senhas",
    "wachtwoord",
    "hasło",
    "şifre",
    "lösenord",
    "adgangskode",
    "kodeord",
    "passord",
    "salasana",
    "jelszó",
    "heslo",
    "пароль",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "密碼",
    "סיסמה",
    "รหัสผ่าน",
    "κωδικός",
]
_PHONES = [
    "telefon",
    "telefono",
    "teléfono",
    "telefone",
    "telefoon",
    "telefonnummer",
    "telefonnr",
    "telefoonnummer",
    "mobil",
    "móvil",
    "mobiltelefon",
    "mobilnummer",
    "handy",
    "handynummer",
    "rufnummer",
    "celular",
    "cellulare",
    "телефон",
    "телефона",
    "тел",
    "電話番号",
    "携帯",
    "携帯電話",
    "携帯番号",
    "전화",
    "전화번호",
    "휴대폰",
    "휴대전화",
    "핸드폰",
    "연락처",
    "手機號碼",
    "電話號碼",
    "聯絡電話",
    "טלפון",
    "هاتف",
    "τηλέφωνο",
    "โทรศัพท์",
    "เบอร์โทร",
]
_BASES = {code: base for code in range(0xC0, 0x250) if (base := unicodedata.normalize("NFD", chr(code))[0]).isascii()}
_BASES |= dict(zip(map(ord, "øØłŁđĐı"), "oOlLdDi", strict=True))


def bare(text: str) -> str:
    """The text without the accents of its Latin letters."""
    return text if text.isascii() else text.translate(_BASES)


def _spelled(words: list[str]) -> tuple[str, ...]:
    """Every way in which words that are not ASCII are written: both engines know the capitals of ASCII alone."""
    other = [word for word in words if not word.isascii()]
    return tuple(dict.fromkeys(form for word in other for form in (word, word.capitalize(), word.upper())))


PASSWORDS = tuple(dict.fromkeys(map(bare, _PASSWORDS)))
"""As keys hold them: in lower case, without accents."""
PHONES = tuple(dict.fromkeys(map(bare, _PHONES)))
"""The same for phone numbers."""
PASSWORDS_SPELLED = _spelled(_PASSWORDS)
"""As texts spell those that are not ASCII."""
PHONES_SPELLED = _spelled(_PHONES)
"""The same for phone numbers."""
