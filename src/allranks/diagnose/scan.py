"""Logs read in large blocks: most lines are recognized by their shape alone and counted together, in stretches.

A line whose shape was seen before and held nothing but a step or plain text costs two look-ups in a dictionary. Such
lines name their ranks and machines in known columns. All others are read one by one, in
their order: `scan` gives out what `parse` would, and `Evidence.add_stretch` does what `Evidence.add` would.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain, compress, repeat
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from allranks.diagnose.blocks import Lines, same_lines, with_last
from allranks.diagnose.kinds import (
    CLOSES,
    GOES_ON,
    MAY_CLOSE,
    MUTE,
    OPENS,
    STEP,
    Case,
    Kind,
    Kinds,
    Layout,
    Origin,
    Sum,
    effect_of,
    is_odd,
    runs,
    stream_of,
)
from allranks.diagnose.lines import Line, Reader, ends
from allranks.diagnose.progress import DRAWN
from allranks.diagnose.recognizer import NEW, Recognizer
from allranks.diagnose.samples import FIRST_OF_EACH, first_numbers
from allranks.diagnose.streams import FRAMES_KEPT, is_own_frame
from allranks.diagnose.stretches import Frames, Part, Stretch
from allranks.diagnose.usual import LAST, kept_in

Told = Union[Line, Stretch, Frames]
PLACES_KEPT = 1 << 16
FEW = 4
"""Lines between two that say something, which are read rather than counted."""


def scan(
    blocks: Iterable[bytes],
    source: "str | None" = None,
    node: "str | None" = None,
    kinds: "Optional[Kinds]" = None,
    of_each: "Optional[int]" = FIRST_OF_EACH,
) -> Iterator[Told]:
    """The same lines that `parse` returns, but lines without information are only counted, in stretches. Those that
    `Usual` keeps (`of_each` is None), or the first ones of each of many logs, are not counted."""
    scanner = _Scanner(source, node, kinds or Kinds())
    wanted = kept_in if of_each is None else first_numbers(of_each)
    every = with_last(blocks, LAST) if of_each is None else zip(blocks, repeat(False))
    for block, is_last in every:
        scanner.keep(block, is_last, wanted)
        yield from scanner.block(block)
    yield from scanner.waiting()


class _Scanner(Recognizer):
    """One log, block after block."""

    def __init__(self, source: "str | None", node: "str | None", kinds: Kinds) -> None:
        super().__init__(Reader(source, node), kinds)
        self.known, self.place = kinds.of(self.ranked), self.reader.place
        self.number = 0
        self.following = 0
        """The number of the first line of the block that was neither read nor counted."""

        self.lines, self.time = 0, None
        self.sums: Dict[Origin, Sum] = {}
        """The stretch that waits to be given out."""

        self.cases: Dict[Any, Case] = {}
        self.closed: Set[Any] = set()
        """Ranks and streams that are surely in no traceback. That of any other may have begun in another log."""
        self.headless: Set[Any] = set()
        """Those in a traceback whose heading is missing."""
        self.headed: Set[Any] = set()
        self.timed = True
        """Whether a line of the block may have a time stamp."""
        self.kept: List[int] = []
        """The numbers of the lines of the block that are read in any case."""

    def keep(self, block: bytes, is_last: bool, wanted: Callable[[int, int], List[int]]) -> None:
        """Has those lines of the next block read that `Usual` or `Samples` keeps."""
        start, self.kept = self.number + self.lines + 1, []
        if is_last or wanted(start, start + len(block) + 1):
            length = block.count(b"\n") + 1
            last = range(max(0, length - LAST), length) if is_last else ()
            self.kept = sorted({*last, *(number - start for number in wanted(start, start + length))})

    def block(self, data: bytes) -> Iterator[Told]:
        self.kinds.note_bytes(len(data))
        text = self.kinds.cutter.alike(data)
        counted = self._count_same(data, text)
        if counted:
            data, text = data[counted:], text[counted:]
        guessed = self.kinds.are_unlike and (self.number + self.lines or self._begins_unlike(text))
        kinds = self._plain(text) if guessed else []
        if kinds:
            forms: Sequence[bytes] = Lines(text, len(kinds))
            suspected = [n for n, kind in enumerate(kinds) if kind is None] if None in set(kinds) else []
            self.kinds.are_unlike = 2 * len(suspected) < len(kinds)
            for number in suspected:
                kinds[number] = self.known.get(forms[number])
        else:
            forms = text.split(b"\n")
            kinds = list(map(self.known.get, forms))
        raws = self.kinds.cutter.lines(data, len(kinds))
        different = set(kinds)
        self.timed = any(kind is None or kind.timed for kind in different)
        speaks = self.kept or self.reader.before[0] or any(map(is_odd, different))
        begun = 0
        for number in self._speaking(raws, forms, kinds) if speaks else ():
            if number > begun or self.lines:
                yield from self._between(raws, kinds, begun, number)
            kind, begun, frames = kinds[number], number + 1, []
            if kind is not None and not self.reader.before[0]:
                if kind.frame:
                    begun, frames = self._end_of_frames(raws, kinds, number)
                elif kind.heading and self._goes_on(raws, kinds, number):
                    begun, frames = self._end_of_frames(raws, kinds, number + 1)
            self.following = begun
            if begun - number > 1:
                yield self._frames(raws, kinds, number, frames, begun)
            elif kind is not None and kind.quick and not self.reader.before[0]:
                yield self._read_quickly(raws[number], kind)
            else:
                yield from self._read(raws[number])
        self._count(raws, kinds, begun, len(raws), None if speaks else different)
        if len(self.sums) > PLACES_KEPT:
            yield from self.waiting()

    # ---- which lines are read ----

    def _speaking(self, raws: Lines, forms: Sequence[bytes], kinds: List[Optional[Kind]]) -> Iterator[int]:
        """The numbers of the lines that must be read. The reader reads each before it asks for the next number."""
        kept = set(self.kept)
        following, asked, at = 0, self._asked(raws, forms, kinds, 0), 0
        while following < len(raws):
            if self.reader.before[0]:
                number = following  # after a rule, the next line may be a heading
            else:
                at = bisect_left(asked, following, at)
                if at == len(asked):
                    return
                number, at = asked[at], at + 1
                kind = kinds[number]
                if number not in kept and (
                    kind is None or not (kind.speaks or self._may_be_open(kind, raws[number]))
                ):
                    continue
            yield number
            following = self.following
            if len(self.reader.learned.shapes) != self.learned or self.reader.place is not self.place:
                self._forget()
                kinds[following:] = [None] * (len(kinds) - following)
                asked, at = self._asked(raws, forms, kinds, following), 0

    def _asked(
        self, raws: Lines, forms: Sequence[bytes], kinds: List[Optional[Kind]], start: int
    ) -> List[int]:
        """The numbers of lines that may have to be read, from `start` on. Lines that are new get their kinds."""
        different = set(kinds)
        if None in different:
            is_new = [kind is None for kind in kinds[start:]]
            new = dict(zip(compress(forms[start:], is_new), compress(range(start, len(forms)), is_new)))
            plain, found = self._plain_ones(new), {}
            left = [form for form in new if form not in plain]
            if len(left) > NEW:  # the first of them show their prefixes, and the matcher takes others
                found = {form: self._found(form, raws[new[form]]) for form in left[:NEW]}
                plain.update(self._plain_ones(left[NEW:]))
                left = [form for form in left[NEW:] if form not in plain]
            found.update((form, self._found(form, raws[new[form]])) for form in left)
            self.kinds.are_unlike = 2 * len(plain) > len(kinds)
            self.kinds.keep(self.known, found)
            found.update(plain)  # which are not kept: lines like them seldom come again
            kinds[start:] = map(found.get, forms[start:], kinds[start:])
            different = set(kinds)
        odd = set(filter(is_odd, different))
        asked = [n for n in range(start, len(kinds)) if kinds[n] in odd] if odd else []
        return sorted({*asked, *(n for n in self.kept if n >= start)}) if self.kept else asked

    def _forget(self) -> None:
        """From here on lines of this log are read in another way: a prefix was learned, or a heading named a place."""
        self.learned, self.place = len(self.reader.learned.shapes), self.reader.place
        self.known, self.cases = {}, {}

    def _may_be_open(self, kind: Kind, raw: bytes) -> bool:
        return self._case_of(kind, raw).stream not in self.closed

    # ---- reading and counting ----

    def _count_same(self, data: bytes, text: bytes) -> int:
        """Counts the lines at the beginning of a block that differ in digits alone and say nothing. Returns the index
        of the first line that it did not count."""
        at, lines = 0, 0
        while not self.reader.before[0]:
            count, width = same_lines(text, at)
            count = min(count, self.kept[0] - lines) if self.kept else count
            kind = self.known.get(text[at : at + width - 1]) if count else None
            if is_odd(kind):
                break
            raws = Lines(data[at : at + count * width - 1], count, width)
            self._count(raws, [kind] * count, 0, count, {kind})
            at, lines = at + count * width, lines + count
        self.kept = [number - lines for number in self.kept]
        return at

    def _goes_on(self, raws: Lines, kinds: List[Any], number: int) -> bool:
        """Whether frames of the same place follow a traceback's heading, and need not be read one by one."""
        kind = kinds[number + 1] if number + 1 < len(kinds) else None
        if kind is None or not kind.frame or number + 1 in self.kept:
            return False
        place = self._case_of(kinds[number], raws[number]).place
        return self._case_of(kind, raws[number + 1]).place == place

    def _end_of_frames(self, raws: Lines, kinds: List[Any], number: int) -> Tuple[int, List[int]]:
        """The number after the last line that belongs to the frames which begin with this line, and theirs."""
        lines, place = raws.cut(), self._case_of(kinds[number], raws[number]).place
        last, frames = number, [number]
        said: Dict[Layout, Any] = {}
        until = next((n for n in self.kept if n >= number), len(kinds)) if self.kept else len(kinds)
        for end in range(number + 1, until):
            kind = kinds[end]
            if kind is None or not kind.between or end - last >= FEW:
                return end, frames
            layout = kind.layout
            value = layout.cut(lines[end]) if layout.cut is not None else None
            if said.get(layout, self) != value:
                if layout in said or self._case_of(kind, lines[end]).place != place:
                    return end, frames
                said[layout] = value
            if kind.frame:
                last = end
                frames.append(end)
        return max(until, number + 1), frames

    def _frames(self, raws: Lines, kinds: List[Any], begun: int, numbers: List[int], end: int) -> Frames:
        """The lines from `begun` up to `end`, of which these are frames, all from the first or the second one on."""
        last, lines, is_headed = numbers[-1], raws.cut(), begun < numbers[0]
        plain = None
        for number in range(end - 1, begun, -1):
            if not kinds[number].frame:
                text = lines[number][kinds[number].start :].strip()
                if not text or text.strip(b" ~^"):
                    plain = number
                    break
        texts = [lines[n][kinds[n].start :].decode("utf-8", "replace") for n in numbers[-FRAMES_KEPT:]]
        earlier = (
            lines[n][kinds[n].start :].decode("utf-8", "replace") for n in numbers[-FRAMES_KEPT - 1 :: -1]
        )
        own = next((text for text in chain(reversed(texts), earlier) if is_own_frame(text)), "")
        case, told = self._case_of(kinds[begun], raws[begun]), self.number + 1 - begun
        self._follow(case.stream, OPENS if is_headed else GOES_ON)
        self.number += end - begun
        rank, node, local, task = case.place
        time = self._time(raws, kinds, begun, end) if self.timed else None
        return Frames(
            Line("", rank, node, self.reader.source, time, local, task),
            end - begun,
            last - begun + 1,
            self._quick(lines[last], kinds[last], told + last, case),
            tuple(texts),
            own,
            None if plain is None else self._quick(lines[plain], kinds[plain], told + plain, case),
            is_headed,
        )

    def _quick(self, raw: bytes, kind: Kind, number: int, case: Case) -> Line:
        """A line of a known kind and place."""
        return self._placed(raw, kind, case, number) if kind.quick else self._line(raw, number)

    def _placed(self, raw: bytes, kind: Kind, case: Case, number: int) -> Line:
        """A line of a known kind and place: so the start of its text is."""
        rank, node, local, task = case.place
        text = raw[kind.start :].decode("utf-8", "replace")
        return _new(Line, (text, rank, node, self.reader.source, None, local, task, number))

    def _line(self, raw: bytes, number: int) -> Line:
        return self.reader.line(raw.decode("utf-8", "replace"), list(self.reader.place), number)

    def _read_quickly(self, raw: bytes, kind: Kind) -> Line:
        """Reads a line of a known kind: so the start of its text and its possible contents are known."""
        case = self._case_of(kind, raw)
        self.number += 1
        self._follow(case.stream, kind.effect)
        return self._placed(raw, kind, case, self.number)

    def _read(self, raw: bytes) -> Iterator[Line]:
        for text in ends(raw.decode("utf-8", "replace")):
            self.number += 1
            for line in self.reader.read(text, self.number):
                stream = stream_of((line.rank, line.node, line.local, line.task), line.source)
                self._follow(stream, effect_of(self.shapes.of(line.text), line.text))
                yield line

    def _follow(self, stream: Any, effect: int) -> None:
        if effect == OPENS:
            self.headed.add(stream)
            self.headless.discard(stream)
            self.closed.discard(stream)
        elif effect == GOES_ON:
            if stream not in self.headed:
                self.headless.add(stream)
            self.closed.discard(stream)
        elif effect == CLOSES or (effect == MAY_CLOSE and stream not in self.headless):
            self.closed.add(stream)
            self.headed.discard(stream)
            self.headless.discard(stream)

    def _case_of(self, kind: Kind, raw: bytes) -> Case:
        layout = kind.layout
        said = layout.cut(raw) if layout.cut is not None else None
        return self.cases.get((layout, said)) or self._case(layout, said, raw)

    def _case(self, layout: Layout, said: Any, raw: bytes) -> Case:
        """The place of a line, and its role if it carries no information."""
        key = layout, said
        case = self.cases.get(key)
        if case is None:
            line = self.reader.line(raw.decode("utf-8", "replace"), list(self.reader.place), 0)
            if len(self.cases) >= PLACES_KEPT:
                self.cases.clear()
            role = MUTE if layout.role == STEP and DRAWN in line.text else layout.role
            place = (line.rank, line.node, line.local, line.task)
            case = self.cases[key] = Case(place, role, stream_of(place, self.reader.source))
        return case

    def _between(self, raws: Lines, kinds: List[Any], begun: int, end: int) -> Iterator[Told]:
        """The lines before one that is read."""
        if end - begun >= FEW:
            self._count(raws, kinds, begun, end)
        yield from self.waiting()
        if end - begun < FEW:
            for raw, kind in zip(raws[begun:end], kinds[begun:end]):
                if kind is not None and kind.quick and not self.reader.before[0]:
                    yield self._read_quickly(raw, kind)
                else:
                    yield from self._read(raw)

    def _count(
        self, raws: Lines, kinds: List[Any], begun: int, end: int, different: Optional[Set[Any]] = None
    ) -> None:
        """Adds lines to the stretch that waits. `different`: the kinds among them, if they are known."""
        if begun == end:
            return
        among = kinds if end - begun == len(kinds) else kinds[begun:end]
        before, different = self.lines - begun + 1, different or set(among)
        for layout, said, run in runs(raws, among, different, begun):
            case = self.cases.get((layout, said)) or self._case(layout, said, raws[run.last])
            one = self.sums.get(case.place)
            if one is None:
                one = self.sums[case.place] = Sum(before + run.first)
            one.add(case.role, run, before, raws)
        if any(kind.timed for kind in different):
            self.time = self._time(raws, kinds, begun, end) or self.time
        self.lines += end - begun

    def waiting(self) -> Iterator[Stretch]:
        """The stretch that waits, if there is one: the next line does not belong to it."""
        if not self.lines:
            return
        parts = [self._part(place, one) for place, one in self.sums.items()]
        parts.sort(key=lambda part: part.first)
        yield Stretch(self.reader.source, self.lines, self.time, tuple(parts))
        self.number += self.lines
        self.lines, self.time, self.sums = 0, None, {}

    def _part(self, place: Origin, one: Sum) -> Part:
        rank, node, local, task = place
        if one.steps:
            self.closed.add(stream_of(place, self.reader.source))
        nobody = Line("", rank, node, self.reader.source, None, local, task)
        plain, step = self._last(one.plain), self._last(one.step)
        return Part(nobody, one.lines, one.first, one.last, plain, one.steps, step)

    def _last(self, told: Optional[Tuple[int, bytes]]) -> Optional[Tuple[int, Line]]:
        if told is None:
            return None
        at, raw = told
        return at, self._line(raw, self.number + at)

    def _time(self, raws: Lines, kinds: List[Any], begun: int, end: int) -> Optional[str]:
        """The last time stamp in a stretch."""
        for number in range(end - 1, begun - 1, -1):
            if kinds[number].timed:
                time = self._line(raws[number], 0).time
                if time is not None:
                    return time
        return None


_new: Any = tuple.__new__  # half the cost of Line(...)
