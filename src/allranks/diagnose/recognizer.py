"""The kind of a line that is like none before it, found by reading it, or by a matcher for many lines at once."""

from __future__ import annotations

import re
from typing import Collection, Dict, List, Optional

from allranks.diagnose.blocks import is_longer, lines_of
from allranks.diagnose.digits import ALIKE_TEXT
from allranks.diagnose.kinds import (
    MUTE,
    NOTHING,
    PLAIN,
    SPEAKING,
    SPEAKS,
    STEP,
    Kind,
    Kinds,
    effect_of,
)
from allranks.diagnose.lines import LINE_LIMIT, Reader, traceback_at
from allranks.diagnose.prefixes import Spans, peel
from allranks.diagnose.progress import drawn_digits
from allranks.diagnose.shapes import PLAIN as PLAIN_SHAPE
from allranks.diagnose.streams import is_warning_class
from allranks.diagnose.wrapped import looks_wrapped

BEGINNING = 4096
"""Bytes at the beginning of a log that show whether its lines are like those of the log before it."""

HEADS_KEPT = 64
NEW = 32
"""Lines of new kinds in a block from which on they are looked through with a matcher."""

_EPOCH = re.compile(r"(?:^|[^\w.])\d{10}(?:\d{3}|\.\d{1,9})?\]?:?[ \t]")
"""A number that may be seconds since 1970: whether it is a time depends on its digits."""


class Recognizer:
    """Finds the kinds of the lines of one log, which `reader` reads."""

    def __init__(self, reader: Reader, kinds: Kinds) -> None:
        self.reader, self.kinds, self.shapes = reader, kinds, kinds.shapes
        self.ranked = reader.place[0] is not None
        """Whether the log's name gives the rank."""

        self.learned = 0
        """The prefixes that the log has shown so far, beside those of known tools."""

    def _plain_ones(self, forms: Collection[bytes]) -> Dict[bytes, Kind]:
        kinds = self._plain(b"\n".join(forms)) if len(forms) >= NEW else []
        return {form: kind for form, kind in zip(forms, kinds) if kind is not None}

    def _begins_unlike(self, forms: bytes) -> bool:
        """Whether most of the first lines of a log are plain text, as in the log before it."""
        end = forms.find(b"\n", BEGINNING)
        kinds = self._plain(forms[:end] if end > 0 else forms)
        return 2 * sum(kind is not None for kind in kinds) > len(kinds)

    def _plain(self, forms: bytes) -> List[Optional[Kind]]:
        """The kind of each line, found without reading it: plain text after a known prefix. It is None for a line in
        which the matcher found something. If there is no matcher, the list is empty."""
        suspects = self.kinds.suspects(len(forms)) if not self.learned else None
        if suspects is None:
            return []
        kinds, texts = self.kinds.cut(forms, self.ranked)
        if is_longer(texts, LINE_LIMIT // 2):  # of a line longer than the limit only the ends are read
            sizes = map(len, texts.split(b"\n"))
            kinds = [kind if size <= LINE_LIMIT // 2 else None for kind, size in zip(kinds, sizes)]
        for number in lines_of(suspects(texts), texts):
            kinds[number] = None
        return kinds

    def _found(self, form: bytes, raw: bytes) -> Kind:
        """The kind of a line that is like none before it."""
        if len(raw) > LINE_LIMIT or b"#000" in form or self.reader.learned.numbered:
            return SPEAKING
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return SPEAKING
        if text.startswith(("==> ", "---", "> ")) or looks_wrapped(text) or self._teaches(text):
            return SPEAKING  # they say something of the lines that follow
        spans: Spans = []
        line = self.reader.line(text, list(self.reader.place), 0, spans)
        if spans and "\x1b" in text:
            return SPEAKING
        shape = self.shapes.of(line.text)
        role = STEP if shape.progress else MUTE if shape.exception else PLAIN
        if not shape.says_nothing or (shape.exception and not is_warning_class(line.text)):
            role = SPEAKS
        if role == STEP and b"| 0/" in form:
            spans += drawn_digits(text.translate(ALIKE_TEXT))
        timed = line.time is not None or _EPOCH.search(text) is not None
        if role == PLAIN and self.kinds.matcher is not None:
            self._keep_head(text, form, timed)
        layout, start = self.kinds.layout(role, text, form, spans), len(text) - len(line.text)
        if line.text != text[start:] or not text[:start].isascii():
            start = -1
        return Kind(layout, effect_of(shape, line.text), timed, start, shape)

    def _teaches(self, text: str) -> bool:
        """Whether a line of a traceback may show a prefix that is not known."""
        at = traceback_at(text)
        if at < 0:
            return False
        head = text[peel(text, list(self.reader.place)) : at]
        return bool(self.learned or head.strip() or (head and text[at] == "T"))

    def _keep_head(self, text: str, form: bytes, timed: bool) -> None:
        """Notes a line's prefix if it ends with a space: then the text that follows does not belong to it."""
        heads, spans = self.kinds.heads(self.ranked), []
        start = peel(text, list(self.reader.place), 0, spans)
        head = text[:start]
        if start and head[-1] in " \t" and head.isascii() and "\x1b" not in head and len(heads) < HEADS_KEPT:
            layout = self.kinds.layout(PLAIN, head, form[:start], spans)
            heads.setdefault(form[:start], Kind(layout, NOTHING, timed, -1, PLAIN_SHAPE))
