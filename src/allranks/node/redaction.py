"""Keeps secrets out of stored and shown texts.

A secret is looked for as it is and in the forms that programs put it into: JSON, URL and HTML escapes,
Python's repr, hex, Base64 at any of its three alignments (in `user:token`), each line of one that has
several. Not found, and documented so: a part of a secret, or one that was encrypted or compressed.
"""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.parse
from typing import Any, Iterable, List, Set, Tuple

SHORTEST = 6
"""A shorter value is in every log by chance (`1`, `true`): masking it would ruin other text."""

MASK = "[redacted]"


def too_short(value: str) -> bool:
    """Whether a value cannot be kept out of logs; an empty one has nothing to keep out."""
    return 0 < len(value) < SHORTEST


def forms(value: str) -> Set[str]:
    """Every form of one secret that is looked for; none if the value is too short."""
    if len(value) < SHORTEST:
        return set()
    raw = value.encode("utf-8", "surrogateescape")
    found = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    found |= {html.escape(value), raw.hex(), raw.hex().upper()}
    for safe in ("", "/", "/:@"):
        quoted = urllib.parse.quote(raw, safe=safe)
        lower = re.sub("%[0-9A-F]{2}", lambda match: match.group().lower(), quoted)
        found |= {quoted, quoted.replace("%20", "+"), lower, lower.replace("%20", "+")}
    for encoded in _base64_parts(raw):
        found |= {encoded, encoded.replace("+", "-").replace("/", "_")}
    for line in value.splitlines():
        found.add(line.strip())
    return {form for form in found if len(form) >= SHORTEST}


def _base64_parts(raw: bytes) -> List[str]:
    """The characters that `raw` alone decides in the Base64 of any text that holds it, one an alignment."""
    parts = []
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode()
        first = (before * 8 + 5) // 6
        last = (before + len(raw)) * 8 // 6
        parts.append(encoded[first:last])
    return parts


class Redactor:
    """Masks the given values in text, in JSON values and, keeping every offset, in a log's bytes."""

    def __init__(self, values: Iterable[str] = ()):
        found: Set[str] = set()
        for value in values:
            found |= forms(value)
        # The longest first, so that no form is cut by a shorter one inside it.
        self._forms = sorted(found, key=lambda form: (-len(form), form))
        raw = [form.encode("utf-8", "surrogateescape") for form in self._forms]
        self._text = re.compile("|".join(map(re.escape, self._forms))) if found else None
        self._bytes = re.compile(b"|".join(map(re.escape, raw))) if found else None
        self._raw = raw
        self.overlap = max(map(len, raw), default=1) - 1
        """A secret that begins in one block of a file ends at most this many bytes into the next one."""

    def __bool__(self) -> bool:
        return self._text is not None

    def text(self, text: str) -> str:
        return text if self._text is None else self._text.sub(MASK, text)

    def json(self, value: Any) -> Any:
        """The same JSON value with every text in it, keys included, redacted."""
        if self._text is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.json(name): self.json(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.json(item) for item in value]
        return value

    def found(self, block: bytes) -> List[Tuple[int, bytes]]:
        """The secrets in `block`: the position of each, and as many `*` as it has bytes."""
        # Looking for each form by itself is many times faster than the pattern, and mostly finds nothing.
        if self._bytes is None or not any(form in block for form in self._raw):
            return []
        return [(match.start(), b"*" * len(match.group())) for match in self._bytes.finditer(block)]

    def mask(self, block: bytes) -> bytes:
        """`block` with as many `*` in place of each secret: the same length, so offsets stay true."""
        masked = bytearray(block)
        for position, stars in self.found(block):
            masked[position : position + len(stars)] = stars
        return bytes(masked)

    def unfinished(self, block: bytes) -> int:
        """How many bytes at the end of `block` may be the beginning of a secret that is still being written."""
        return max((_common(block, form) for form in self._raw), default=0)


def _common(block: bytes, form: bytes) -> int:
    """The length of the longest proper beginning of `form` that `block` ends with."""
    for length in range(min(len(form) - 1, len(block)), 0, -1):
        if block.endswith(form[:length]):
            return length
    return 0
