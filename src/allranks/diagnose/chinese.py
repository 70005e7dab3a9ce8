"""Words of errors that people describe in Chinese, and their English, which the subjects of claims and complaints know.

A word is put in the place of each; the order of the others stays, as the names of libraries and devices are English.
"""

from __future__ import annotations

import re

_WORDS = (
    (
        " no module named ",
        r"(?:\u627e\u4e0d\u5230|\u6ca1\u6709\u627e\u5230|\u672a\u627e\u5230|\u6ca1\u6709)(?:\u540d\u4e3a)? "
        r"?\u6a21\u5757"
        r"|\u6ca1\u6709\u540d\u4e3a"
        r"|\u7f3a\u5c11(?= ?(?!config|tokenizer|label|file|token|key|arg|param|weight|ckpt|check)"
        r"[a-z][a-z0-9_]{2,30}(?![\w./]))",
    ),
    (" missing ", r"\u7f3a\u5c11|\u7f3a\u5931"),
    (
        " did not detect ",
        r"(?:\u6ca1\u6709|\u6ca1|\u672a|\u65e0\u6cd5|\u4e0d\u80fd)(?:\u68c0\u6d4b|\u8bc6\u522b)(?:\u5230)?"
        r"|(?:\u68c0\u6d4b|\u8bc6\u522b)\u4e0d\u5230",
    ),
    (" cannot find ", r"\u627e\u4e0d\u5230|\u672a\u627e\u5230|\u6ca1\u6709\u627e\u5230"),
    (" is not installed ", r"\u672a\u5b89\u88c5|\u6ca1\u6709\u5b89\u88c5|\u6ca1\u5b89\u88c5"),
    (" does not support ", r"\u4e0d\u652f\u6301"),
    (" is not compatible ", r"\u4e0d\u517c\u5bb9"),
    (" version ", r"\u7248\u672c"),
    (" driver ", r"\u9a71\u52a8"),
    (" is too old ", r"(?:\u592a|\u8fc7)(?:\u4f4e|\u65e7|\u8001)"),
    (" compile ", r"\u7f16\u8bd1"),
    (" package ", r"\u4f9d\u8d56\u5305?"),
    (" module ", r"\u6a21\u5757"),
    (" GPU ", r"\u663e\u5361(?!\u7684)"),
    (" not on the same device ", r"\u4e0d\u5728\u540c\u4e00\u4e2a?\u8bbe\u5907"),
    (" is busy ", r"\u88ab\u5360\u7528"),
    (" tensors ", r"\u5f20\u91cf"),
)
"""The longest first, of those that begin alike."""

_ENGLISH = tuple(english for english, _ in _WORDS)
_BLANKS = re.compile(" {2,4}")
_ANY = re.compile("|".join(f"({expression})" for _, expression in _WORDS))


def in_english(text: str) -> str:
    """The same line with these words in English."""
    if text.isascii():
        return text
    return _BLANKS.sub(" ", _ANY.sub(lambda match: _ENGLISH[(match.lastindex or 1) - 1], text))
