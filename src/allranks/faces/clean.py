"""Text from nodes and logs, made safe to print: what a terminal would obey is shown, not sent."""

from __future__ import annotations

import unicodedata


def clean(text: str) -> str:
    """Control and format characters as `\\x1b` or `\\u202e`; newline and tab stay as they are."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or not hidden(c) else escaped(c) for c in text)


def hidden(character: str) -> bool:
    """Cc: control; Cf: format, such as the bidirectional overrides; Cs, Co, Cn: surrogates and the unassigned."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn")


def escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
