"""The kinds of raw lines, told apart with every digit alike: what they count as, and where they say their place."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from operator import itemgetter
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.diagnose.lines import LINE_LIMIT
from allranks.diagnose.prefixes import Spans
from allranks.diagnose.shapes import Shapes

KINDS_BYTES = 1 << 24
STEP, PLAIN, MUTE, SPEAKS = range(4)


class Layout:
    """Where raw lines say their place, and what they count as. `cut` takes out of one what tells its place; None: all
    of them have the same."""

    __slots__ = ("cut", "role")

    def __init__(self, role: int, cut: "Optional[Callable[[bytes], Any]]" = None) -> None:
        self.role, self.cut = role, cut


class Kind:
    """What raw lines that differ in digits alone have in common. `ends`: such a line may be the end of a traceback;
    `timed`: it may hold a time stamp."""

    __slots__ = ("ends", "layout", "speaks", "timed")

    def __init__(self, layout: Layout, ends: bool, timed: bool) -> None:
        self.layout, self.ends, self.timed = layout, ends, timed
        self.speaks = layout.role == SPEAKS


SPEAKING = Kind(Layout(SPEAKS), False, False)
Place = Tuple[Optional[int], Optional[str], Optional[int], Optional[int]]


class Kinds:
    """The kinds of raw lines, for logs that are read one after another. Where the name of a log tells the rank, no rank
    is looked for within the lines: those logs have kinds of their own."""

    def __init__(self) -> None:
        self.shapes = Shapes()
        self.layouts: Dict[Any, Layout] = {}
        self._of: Dict[Any, Dict[bytes, Kind]] = {}
        self._bytes = 0

    def of(self, ranked: object) -> Dict[bytes, Kind]:
        return self._of.setdefault(ranked, {})

    def keep(self, known: Dict[bytes, Kind], found: Dict[bytes, Kind]) -> None:
        kept = {form: kind for form, kind in found.items() if len(form) <= LINE_LIMIT}
        self._bytes += sum(map(len, kept)) + 200 * len(kept)
        if self._bytes > KINDS_BYTES:
            for one in (known, *self._of.values()):
                one.clear()
            self.layouts.clear()
            self._bytes = 0
        known.update(kept)

    def layout(self, role: int, text: str, form: bytes, spans: Spans) -> Layout:
        """The same one for all lines that say their place in the same way at the same columns."""
        columns = [
            (len(text[:start].encode()), len(text[:end].encode())) for start, end in sorted(set(spans))
        ]
        digits = tuple((start, end) for start, end in columns if any(b == 0x30 for b in form[start:end]))
        key = role, digits, form[: max((end for _, end in columns), default=0)]
        layout = self.layouts.get(key)
        if layout is None:
            cut = itemgetter(*(slice(start, end) for start, end in digits)) if digits else None
            layout = self.layouts[key] = Layout(role, cut)
        return layout


class Run(NamedTuple):
    """Lines of a block that say the same place: how many, and the first and the last one's number in the block."""

    lines: int
    first: int
    last: int


LAYOUTS_APART = 4
"""Layouts in one stretch that are looked for one after the other; of more, line after line."""


def runs(raws: List[bytes], among: List[Kind], begun: int) -> Iterator[Tuple[Layout, Any, Run]]:
    """(layout, what tells the place, lines) of each place in a stretch."""
    counts, last = Counter(among), dict(zip(among, range(begun, begun + len(among))))
    layouts: Dict[Layout, Set[Kind]] = {}
    for kind in counts:
        layouts.setdefault(kind.layout, set()).add(kind)
    cutting = [layout for layout in layouts if layout.cut is not None]
    for layout, kinds in layouts.items():
        if layout.cut is None:
            first = begun + min(map(among.index, kinds))
            yield layout, None, Run(sum(counts[k] for k in kinds), first, max(last[k] for k in kinds))
    rows: Dict[Layout, List[int]] = {layout: [] for layout in layouts}
    if len(cutting) > LAYOUTS_APART:
        for number, kind in enumerate(among, begun):
            rows[kind.layout].append(number)
    for layout in cutting:
        numbers: Sequence[int] = range(begun, begun + len(among))
        if len(cutting) > LAYOUTS_APART:
            numbers = rows[layout]
        elif len(layouts) > 1:
            numbers = list(compress(numbers, map(layouts[layout].__contains__, among)))
        said = list(map(layout.cut, map(raws.__getitem__, numbers)))  # type: ignore[arg-type]  # it has a cut
        firsts = dict(zip(reversed(said), reversed(numbers)))
        lasts = dict(zip(said, numbers))
        for value, count in Counter(said).items():
            yield layout, value, Run(count, firsts[value], lasts[value])
