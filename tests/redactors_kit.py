"""What the tests of the redactors share: made-up secrets, and texts and keys put together from telling pieces."""

from __future__ import annotations

from hypothesis import strategies as st

GHP = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AKIA = "AKIA" + "QWERTYUIOPASDFGH"


PIECES = st.sampled_from(
    [
        "a@example.com",
        "@",
        "%40",
        ".",
        "com",
        "a",
        "+",
        "1",
        "415",
        "-",
        " ",
        "(",
        ")",
        "555",
        "0182",
        "4111",
        "1111",
        "13812345678",
        "手机",
        "phone",
        ":",
        "=",
        "password",
        "key",
        "token",
        '"',
        "\\",
        "'",
        "FAKE-SECRET-0001",
        GHP,
        AKIA,
        "sk-",
        "xoxb-",
        "Bearer ",
        "abcDEFghiJKLmnoPQR0",
        "userPhone",
        ".0",
        "[email]",
        "[phone]",
        "[card]",
        "[secret]",
        "\u200b",
        "\uff20",
        "\uff11",
        "é",
        "\ud800",
        "\n",
        "x",
        "/",
        "2024-05-01",
        "eyJ",
        "_",
        "é@é.com",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join) | st.text()
LABELS = st.none() | st.sampled_from(["phone", "password", "order_id", "x", "card", "token", "手机"]) | st.text(max_size=8)
