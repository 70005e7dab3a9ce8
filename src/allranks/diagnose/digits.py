"""Treats all digits as equal: properties that lines with different digits share are computed only once for all of
them."""

from __future__ import annotations

import re

ALIKE = bytes(0x30 if 0x30 <= b <= 0x39 else b for b in range(256))
ALIKE_TEXT = {n: "0" for n in range(0x30, 0x3A)}
"""For `bytes.translate` and `str.translate`: every digit becomes 0."""

_ANY_DIGIT = re.compile(r"\\[^0-9]|\{\d{0,9},?\d{0,9}\}|0-9")


def values_matter(expression: str) -> bool:
    """Whether a regular expression may match one line and not another that differs in digits alone."""
    return "(?P=" in expression or any(c.isdigit() for c in _ANY_DIGIT.sub("", expression))
