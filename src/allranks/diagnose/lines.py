"""Log lines: splits streams into lines in bounded memory, reads their prefixes (rank, node, time), and makes them safe
to show.

The prefixes are removed (`prefixes.py`), and symptoms look at the rest of the line. Every expression here is linear:
no nested repetition, bounded lengths.
"""

from __future__ import annotations

import re
from typing import IO, Any, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from allranks.core.secret_forms import without_secrets
from allranks.diagnose.prefixes import NODE, Learned, Spans, peel, place_of_source
from allranks.diagnose.wrapped import looks_wrapped, unwrap

LINE_LIMIT = 4096
"""Characters of a line that are looked at: the first 3,072 and the last 1,024 of a longer one. The longest
texts of real causes (a desync report, a fingerprint of DETAIL) are about 2,500 characters."""

CHUNK_BYTES = 1 << 16
EVIDENCE_LIMIT = 400


class Line(NamedTuple):
    """One line. `rank` is global, `local` the rank on its node, `task` the number `srun -l` put before it
    (a rank, or a node where a launcher runs in each task); `time` is the time stamp as it was written."""

    text: str
    rank: Optional[int] = None
    node: Optional[str] = None
    source: Optional[str] = None
    time: Optional[str] = None
    local: Optional[int] = None
    task: Optional[int] = None
    number: int = 0


_GLOG = re.compile(r"\[?[WEIFCD](\d{1,2})(\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)")
_INNER_RANK = re.compile(
    r"\[(?:PG [^\[\]]{0,80} )?[Rr]ank[ :=]?(\d{1,6})\]"
    r"|^[\d\s.,:/\[\]()TZ|-]{0,40}(?:\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\]?[\s:|-]{1,4})?"
    # a logger's own format, but not the rank of LoRA
    r"rank(?:[=: ]{0,2}(\d{1,6}) ?[|:>)\]-]|=(\d{1,6}),? (?=(?:step|batch|epoch|iter|it|loss|round|reward|world|local"
    r"|pid|end|bad|joined|started|finish)))"
)
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")


def split(chunks: Iterable[Union[bytes, str]]) -> Iterator[str]:
    """Lines of a stream of chunks, cut at `\\n` and `\\r`; of one that is longer than `CHUNK_BYTES` characters its two
    ends, as two lines, so memory is bounded whatever the stream holds."""
    rest = ""
    for chunk in chunks:
        text = chunk.decode("utf-8", "replace") if isinstance(chunk, bytes) else chunk
        if "\r" in text:
            text = text.replace("\r", "\n")
        parts = (rest + text).split("\n")
        rest = parts.pop()
        for part in parts:
            yield from ends(part) if len(part) > CHUNK_BYTES else (part,)
        if len(rest) > 2 * CHUNK_BYTES:
            rest = rest[: CHUNK_BYTES + 1] + rest[-LINE_LIMIT:]
    if rest:
        yield from ends(rest)


def ends(line: str) -> Tuple[str, ...]:
    """The line itself, or the first and the last `LINE_LIMIT` characters of a very long one; the rest is not read."""
    return (line,) if len(line) <= CHUNK_BYTES else (line[:LINE_LIMIT], "… " + line[-LINE_LIMIT:])


def read(file: IO[Any]) -> Iterator[str]:
    """The lines of an open file, bytes or text, in bounded memory."""
    return split(iter(lambda: file.read(CHUNK_BYTES), file.read(0)))


def parse(
    text: Union[str, bytes, Iterable[str], IO[Any]], source: "str | None" = None, node: "str | None" = None
) -> Iterator[Line]:
    """The lines of a whole text, of an open file (always in bounded memory), or of an iterable of lines, with their
    prefixes read. `node` is their machine, unless a line names another."""
    if isinstance(text, (str, bytes)):
        lines: Iterable[str] = split((text,))
    else:
        lines = read(text) if hasattr(text, "read") else text  # type: ignore[arg-type]  # a file has read
    reader = Reader(source, node)
    for number, raw in enumerate(lines, 1):
        yield from reader.read(raw, number)


_QUOTE = re.compile(r"(?:> ){1,3}")
TRACEBACK = "Traceback (most recent call last)"
_A_FRAME = '  File "'
_CLASS = re.compile(r"[A-Z]\w{2,60}[ ]{2,80}$")
"""IPython puts the exception's class before the heading of a traceback."""

_SAID = re.compile(r"[A-Za-z](?:Error|Exception): (?:\S|$)|\^C$")
"""An exception and its message, or a Ctrl-C: neither is a prefix of the traceback that follows in its line. An old
torch raises a loader's exception with its traceback as the message."""

_TAIL = re.compile(r"==> (\S.{0,400}) <==\s{0,8}$")
_OF_RANK = re.compile(r"-{4,20}(?:(Begin)|End) global rank (\d{1,6}) STD(?:OUT|ERR)-{4,20}")
"""Composer's launcher repeats the output of each rank between two such lines."""

NAMES_KEPT = 65536
"""Of files in one log. A heading with another name counts as a line."""

_RULE = re.compile(r"-{8,80}\s{0,8}$")
_HEADED = re.compile(r"([A-Za-z\d][\w.,\[\]-]{0,200})(?: \(\d{1,6}\))?\s{0,8}$")


def traceback_at(raw: str) -> int:
    """The index in a line at which the heading of a traceback begins, or one of its frames; -1 if there is none."""
    return raw.find(TRACEBACK) if TRACEBACK in raw else raw.find(_A_FRAME)


class Reader:
    """One log, line after line, with the place that its name and its headings give to the lines that follow."""

    def __init__(self, source: "str | None", node: "str | None" = None) -> None:
        self.source = source
        self.place = self._of(source)
        self.place[NODE] = node or self.place[NODE]
        self.learned = Learned()
        self.before: Tuple[str, str] = ("", "")
        self.named: Set[str] = set()
        """The files that the headings of this log named."""

    @staticmethod
    def _of(source: "str | None") -> List[Any]:
        rank, node, local, task = place_of_source(source)
        return [rank, node, None, local, task]

    def read(self, raw: str, number: int) -> Iterator[Line]:
        if raw.startswith(("==> ", "---")) or self.before[0]:
            self._heading(raw)
        if len(raw) > LINE_LIMIT and not looks_wrapped(raw):
            raw = raw[: LINE_LIMIT - 1024] + " … " + raw[-1024:]
        place = list(self.place)
        texts = unwrap(raw, place) if looks_wrapped(raw) else None
        if texts is None:
            yield self.line(raw, place, number)
            return
        for text in texts:
            yield self.line(text, list(place), number)

    def _heading(self, raw: str) -> None:
        """`tail`, `head` and Composer say whose lines follow in one line; `dshbak` and `clush -b` between two rules."""
        ranked = _OF_RANK.match(raw)
        if ranked is not None:
            place = self._of(self.source)
            self.place = [int(ranked.group(2)), *place[1:]] if ranked.group(1) else place
            return
        named = _TAIL.match(raw)
        if named is not None and (named.group(1) in self.named or len(self.named) < NAMES_KEPT):
            self.named.add(named.group(1))
            self.source = named.group(1)
            self.place = self._of(self.source)
        rule, name = self.before
        if rule and name and _RULE.match(raw):
            self.place = [None, name, None, None, None]
            self.before = ("", "")
        elif rule and not name:
            headed = _HEADED.match(raw)
            self.before = (rule, headed.group(1)) if headed is not None else ("", "")
        else:
            self.before = ("-", "") if _RULE.match(raw) else ("", "")

    def line(self, raw: str, place: List[Any], number: int, spans: "Optional[Spans]" = None) -> Line:
        """One line. The positions of the characters that give its place are added to `spans`."""
        if len(raw) > LINE_LIMIT:
            raw = raw[: LINE_LIMIT - 1024] + " … " + raw[-1024:]
        if "#0" in raw:
            raw = (
                raw.replace("#033", "\x1b").replace("#011", "\t").replace("#012", " ")
            )  # as rsyslog escapes them
        if "\x1b" in raw:
            raw = _ESCAPE.sub("", raw)
        if raw.startswith("> "):
            raw = _QUOTE.sub("", raw, count=1)  # a log quoted in a mail or a thread
        start = peel(raw, place, 0, spans)
        if self.learned.shapes:
            start = self.learned.peel(raw, start, place, spans)
        heading = traceback_at(raw)
        if (
            heading > start
            and (raw[heading] == "T" or raw[start:heading].strip())
            and _CLASS.match(raw, start, heading) is None
            and _SAID.search(raw, start, heading) is None
        ):
            self.learned.heading(raw[start:heading])
            start = self.learned.peel(raw, start, place, spans)
        body = raw[start:] if start else raw
        rank, node, time, local, task = place
        if time is None and body and body[0] in "[WEIFC":
            stamp = _GLOG.match(body)
            if stamp is not None:
                time = "0000-" + stamp.group(1).zfill(2) + "-" + stamp.group(2) + " " + stamp.group(3)
        if rank is None and "ank" in body:
            inner = _INNER_RANK.search(
                body
            )  # glued behind a progress bar, or `[PG 0 Rank 3] Watchdog caught`
            rank = int(inner.group(inner.lastindex or 0)) if inner else None
            if inner is not None and spans is not None:
                begun, end = inner.span(inner.lastindex or 0)
                spans.append((start + begun, start + end))
        return _new(Line, (body, rank, node, self.source, time, local, task, number))


_new: Any = tuple.__new__  # half the cost of Line(...), which is called for every line

YEAR_SECONDS = 366 * 86400.0
"""The year's length in the table below, in which every February has 29 days."""

_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)


def seconds(time: "str | None") -> Optional[float]:
    """A time stamp as seconds since its year's start: glog writes no year, so no year is looked at. `near` takes two of
    them to one axis.

    For order and differences alone; the zone is unknown and taken to be the same everywhere.
    """
    if not time or len(time) < 19:
        return None
    try:
        month, day = int(time[5:7]), int(time[8:10])
        clock = int(time[11:13]) * 3600 + int(time[14:16]) * 60 + int(time[17:19])
        fraction = float("0." + "".join(c for c in time[20:29] if c.isdigit())) if len(time) > 20 else 0.0
        return float((_DAYS_BEFORE[month - 1] + day) * 86400 + clock) + fraction
    except (ValueError, IndexError):
        return None


def near(moment: float, other: float) -> float:
    """`moment` in the year in which it is nearest to `other`: at New Year `seconds` starts from 0 again."""
    return moment + YEAR_SECONDS * round((other - moment) / YEAR_SECONDS)


def clean(text: str, limit: int = EVIDENCE_LIMIT) -> str:
    """A line as evidence: no escape codes, no control or direction characters, no secrets, one line, bounded."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    text = without_secrets(text[: 16 * limit])
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * limit])
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
