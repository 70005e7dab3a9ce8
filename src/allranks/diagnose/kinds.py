"""The kinds of raw lines, which ignore the values of digits: their role, and the columns that name their place."""

from __future__ import annotations

import re
from collections import Counter
from itertools import compress
from operator import itemgetter
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.diagnose.blocks import Cutter, Lines
from allranks.diagnose.lines import LINE_LIMIT
from allranks.diagnose.prefixes import Spans
from allranks.diagnose.shapes import PLAIN as PLAIN_SHAPE
from allranks.diagnose.shapes import Shape, Shapes
from allranks.diagnose.streams import FRAMES, LOOSE, opens
from allranks.diagnose.suspects import Suspects

KINDS_BYTES = 1 << 24
UNLIKE = 50_000
"""Bytes of lines like none before, from which on a matcher is made."""

LARGE = 1 << 24
"""Bytes of logs from which on a quicker cutter is loaded: for a few logs it would take longer to load than it saves."""

STEP, PLAIN, MUTE, SPEAKS = range(4)
NOTHING, OPENS, GOES_ON, CLOSES, MAY_CLOSE = range(5)
"""The effects of a line on a traceback. A frame goes on with one, or opens one whose heading is missing; a class
without a colon only closes one that has its heading."""


class Layout:
    """The columns of the digits by which raw lines name their place, and their role. `cut` takes those digits out of a
    line; None: all lines have the same place."""

    __slots__ = ("columns", "cut", "role")

    def __init__(self, role: int, columns: Sequence[int] = ()) -> None:
        self.role, self.columns = role, columns
        self.cut: Optional[Callable[[bytes], Any]] = itemgetter(*columns) if columns else None


class Kind:
    """The common properties of raw lines that differ only in digits. `effect`: the effect on a traceback; `timed`: such
    a line may have a time stamp; `start`: the index at which its text begins, -1 if it is not known; `quick`: so
    all of it but its place is known; `frame`: it is only a frame of a traceback; `heading`: it only heads one;
    `between`: it may be between two frames."""

    __slots__ = (
        "between", "effect", "ends", "frame", "heading", "layout", "quick", "shape", "speaks", "start", "timed",
    )  # fmt: skip

    def __init__(self, layout: Layout, effect: int, timed: bool, start: int, shape: Shape) -> None:
        self.layout, self.effect, self.timed, self.start, self.shape = layout, effect, timed, start, shape
        self.speaks = layout.role == SPEAKS
        self.ends = layout.role != STEP and effect != NOTHING
        self.quick = start >= 0 and not timed
        self.frame = start >= 0 and shape.is_frame
        self.heading = self.quick and shape.is_heading
        self.between = self.frame or (layout.role == PLAIN and effect == NOTHING)


def is_odd(kind: Optional[Kind]) -> bool:
    """Whether lines of this kind may have to be read one by one."""
    return kind is None or kind.speaks or kind.ends


Origin = Tuple[Optional[int], Optional[str], Optional[int], Optional[int]]
SPEAKING = Kind(Layout(SPEAKS), NOTHING, True, -1, PLAIN_SHAPE)


def effect_of(shape: Shape, text: str) -> int:
    """How a line changes the traceback of its stream."""
    if shape.heading:
        if shape.heading in FRAMES:
            return GOES_ON
        return OPENS if opens(shape.heading) else CLOSES
    if shape.progress or shape.exception:
        return CLOSES
    return MAY_CLOSE if shape is PLAIN_SHAPE and LOOSE.match(text) is not None else NOTHING


def stream_of(place: Origin, source: "str | None") -> Any:
    """The stream that a traceback belongs to: a rank wherever it prints, else the lines of a place without a rank."""
    return place[0] if place[0] is not None else (source, *place[1:])


class Case(NamedTuple):
    """The place and the role of lines that name their place alike, and the stream that their tracebacks belong to."""

    place: Origin
    role: int
    stream: Any


class Kinds:
    """The kinds of raw lines, for logs that are read one after another. If the name of a log gives the rank, its lines
    are not searched for one, so such logs have separate kinds."""

    def __init__(
        self,
        matcher: "Optional[Callable[[], Optional[Suspects]]]" = None,
        quicker: "Optional[Callable[[], Optional[Cutter]]]" = None,
        shapes: "Optional[Shapes]" = None,
    ) -> None:
        self.shapes = shapes or Shapes()
        self.matcher = matcher
        self.cutter = Cutter()
        self._quicker = quicker
        self._seen_bytes = 0
        self._suspects: Optional[Suspects] = None
        self.are_unlike = False
        """Most lines of the last block were like none before. The next log of a job is often the same."""
        self._unlike = 0
        self.layouts: Dict[Any, Layout] = {}
        self._of: Dict[Any, Dict[bytes, Kind]] = {}
        self._heads: Dict[Any, Dict[bytes, Kind]] = {}
        self._usual: Dict[Any, bytes] = {}
        """The prefix that most lines had."""

        self._bytes = 0

    def suspects(self, unlike: int) -> Optional[Suspects]:
        """The matcher, for so many bytes more of lines that are like none before; None as long as they are few, since
        to make it costs as much as reading some hundred lines."""
        self._unlike += unlike
        if self._suspects is None and self._unlike > UNLIKE:
            self.make_matcher()
        return self._suspects

    def note_bytes(self, count: int) -> None:
        """Takes the quicker cutter once so many bytes are read that it saves more time than it takes to load."""
        self._seen_bytes += count
        if self._seen_bytes > LARGE:
            self.make_cutter()

    def make_cutter(self) -> None:
        if self._quicker is not None:
            self.cutter, self._quicker = self._quicker() or self.cutter, None

    def make_matcher(self) -> None:
        if self.matcher is not None and self._suspects is None:
            self._suspects = self.matcher()
            self.matcher = None if self._suspects is None else self.matcher

    def of(self, ranked: object) -> Dict[bytes, Kind]:
        return self._of.setdefault(ranked, {})

    def keep(self, known: Dict[bytes, Kind], found: Dict[bytes, Kind]) -> None:
        kept = {form: kind for form, kind in found.items() if len(form) <= LINE_LIMIT}
        self._bytes += sum(map(len, kept)) + 200 * len(kept)
        if self._bytes > KINDS_BYTES:
            for one in (known, *self._of.values()):
                one.clear()
            self.layouts.clear()
            self._heads.clear()
            self._bytes = 0
        known.update(kept)

    def heads(self, ranked: object) -> Dict[bytes, Kind]:
        """The prefixes of lines, every digit as 0, and the kind of plain text behind each."""
        return self._heads.setdefault(
            ranked, {b"": Kind(self.layout(PLAIN, "", b"", []), NOTHING, False, -1, PLAIN_SHAPE)}
        )

    def cut(self, forms: bytes, ranked: object) -> Tuple[List[Optional[Kind]], bytes]:
        """The rest of each line after its known prefixes, joined again, and each line's kind if it is plain text. First
        the prefix is tried that most of the last lines had: if all have it, nothing else must be looked at."""
        heads = self.heads(ranked)
        usual = self._usual.get(ranked, b"")
        if usual in heads and usual:
            count, texts = self.cutter.without(forms, usual)
            if count:
                return [heads[usual]] * count, texts
        known = b"|".join(map(re.escape, sorted(heads, key=len, reverse=True)))
        _, *parts = re.split(b"\n(" + known + b")", b"\n" + forms)
        self._usual[ranked] = Counter(parts[::2]).most_common(1)[0][0]
        return list(map(heads.get, parts[::2])), b"\n".join(parts[1::2])

    def layout(self, role: int, text: str, form: bytes, spans: Spans) -> Layout:
        """The same one for all lines that say their place in the same way at the same columns."""
        columns = {
            column
            for start, end in spans
            for column in range(len(text[:start].encode()), len(text[:end].encode()))
        }
        digits = tuple(column for column in sorted(columns) if form[column] == 0x30)
        key = role, digits, form[: max(columns, default=-1) + 1]
        layout = self.layouts.get(key)
        if layout is None:
            layout = self.layouts[key] = Layout(role, digits)
        return layout


class Run(NamedTuple):
    """Lines of a block that say the same place: how many, and the first and the last one's number in the block."""

    lines: int
    first: int
    last: int


class Sum:
    """The lines that one place printed in a stretch so far; `plain` and `step` are the last line of their kind, with
    its number in the stretch."""

    __slots__ = ("first", "last", "lines", "plain", "step", "steps")

    def __init__(self, first: int) -> None:
        self.first, self.last, self.lines, self.steps = first, 0, 0, 0
        self.plain: Optional[Tuple[int, bytes]] = None
        self.step: Optional[Tuple[int, bytes]] = None

    def add(self, role: int, run: Run, before: int, raws: Lines) -> None:
        """`before` turns a number in the block into one in the stretch."""
        last = before + run.last
        self.lines += run.lines
        self.first, self.last = min(self.first, before + run.first), max(self.last, last)
        if role == STEP:
            self.steps += run.lines
            if self.step is None or last > self.step[0]:
                self.step = last, raws[run.last]
        elif role == PLAIN and (self.plain is None or last > self.plain[0]):
            self.plain = last, raws[run.last]


TOGETHER = 128
"""Lines among which it is first asked whether there is any of another layout."""

SAMPLED = 64
"""One line of so many is looked at to find the layout that most lines have."""


def runs(
    raws: Lines, among: List[Kind], different: Set[Kind], begun: int
) -> Iterator[Tuple[Layout, Any, Run]]:
    """(layout, the text that gives the place, lines) of each place in a stretch."""
    whole = range(begun, begun + len(among))
    layouts = {kind.layout for kind in different}
    if len(layouts) == 1:
        yield from _of_layout(
            layouts.pop(), whole, raws if len(whole) == len(raws) else raws[begun : whole.stop]
        )
        return
    largest = Counter(kind.layout for kind in among[::SAMPLED]).most_common(1)[0][0]
    others = {kind for kind in different if kind.layout is not largest}
    rows: Dict[Layout, List[int]] = {}
    for start in range(0, len(among), TOGETHER):
        part = among[start : start + TOGETHER]
        if not others.isdisjoint(part):
            for number in compress(whole[start:], map(others.__contains__, part)):
                rows.setdefault(among[number - begun].layout, []).append(number)
    if largest.cut is None:  # the first to be given out: so the last line of the others is seldom needed
        first = next(n for n, kind in zip(whole, among) if kind not in others)
        last = next(n for n, kind in zip(reversed(whole), reversed(among)) if kind not in others)
        yield largest, None, Run(len(among) - sum(map(len, rows.values())), first, last)
    else:
        chosen = [kind not in others for kind in among]
        lines = list(compress(raws[begun : whole.stop], chosen))
        yield from _of_layout(largest, list(compress(whole, chosen)), lines)
    for layout, numbers in rows.items():
        yield from _of_layout(layout, numbers, [raws[n] for n in numbers] if layout.columns else [])


def _of_layout(
    layout: Layout, numbers: Sequence[int], lines: Sequence[bytes]
) -> Iterator[Tuple[Layout, Any, Run]]:
    """How many times each place occurs, and the numbers of its first and its last line."""
    if layout.cut is None:
        yield layout, None, Run(len(numbers), numbers[0], numbers[-1])
        return
    if len(layout.columns) <= 2:  # one byte for each line
        codes = _column(lines, layout.columns[0])
        if len(layout.columns) == 2:
            codes = _together(codes, _column(lines, layout.columns[1]))
        for code in set(codes):
            said = code if len(layout.columns) == 1 else (ZERO + code // 10, ZERO + code % 10)
            run = Run(codes.count(code), numbers[codes.index(code)], numbers[codes.rindex(code)])
            yield layout, said, run
        return
    values = list(zip(*(_column(lines, column) for column in layout.columns)))
    firsts, lasts = dict(zip(reversed(values), reversed(numbers))), dict(zip(values, numbers))
    for value, count in Counter(values).items():
        yield layout, value, Run(count, firsts[value], lasts[value])


def _column(lines: Sequence[bytes], number: int) -> bytes:
    return lines.column(number) if isinstance(lines, Lines) else bytes(map(itemgetter(number), lines))


ZERO = 0x30
_VALUES = bytes((byte - ZERO) % 256 for byte in range(256))


def _together(tens: bytes, ones: bytes) -> bytes:
    """The digits of both, place by place, as numbers from 0 to 99: as the digits of a large number in base 256, which
    carries nothing."""
    number = 10 * int.from_bytes(tens.translate(_VALUES), "big") + int.from_bytes(
        ones.translate(_VALUES), "big"
    )
    return number.to_bytes(len(ones), "big")
