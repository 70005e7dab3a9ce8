"""Log lines: cut from streams in bounded memory, their prefixes read (rank, node, time), made safe to show.

Prefixes come in layers and in any order: `gpu-node-01: [2026-11-20 23:05:06] [rank0]: text`. Each layer is
taken off; what is left is the text that symptoms look at. Every expression here is linear: no nested
repetition, bounded lengths.
"""

from __future__ import annotations

import re
from typing import IO, Any, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

LINE_LIMIT = 4096
"""Characters of a line that are looked at: the first 3,072 and the last 1,024 of a longer one. The longest
texts of real causes (a desync report, a fingerprint of DETAIL) are about 2,500 characters."""

CHUNK_BYTES = 1 << 16
EVIDENCE_LIMIT = 400
MAX_LAYERS = 6


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


# One alternative a kind of prefix; the name of the last group says which. A host's name must hold a digit or
# come in brackets: `RuntimeError: ` is none, `gpu-node-01: ` is. Names of files (`libnccl.so.2: cannot open`)
# are none either.
_DATE = r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_LAYER = re.compile(
    r"[ \t]{0,8}(?:\x1b?\[\d{1,2}m)?(?:"
    r"\[(?:rank|Rank|RANK)[ :=]{0,2}(?P<rank>\d{1,6})\](?::|(?=\W))[ ]?"
    r"|\[default(?P<local>\d{1,4})\]:[ ]?"
    r"|\[(?P<stamp>" + _DATE + r")(?:Z|[+-]\d\d:?\d\d)?\][ ]?"
    r"|(?P<date>" + _DATE + r"(?:Z|[+-]\d\d:?\d\d)?)(?:[ \t]{0,16}[|][ ]?|[ \t]-[ \t]|[:]?[ \t])"
    r"|(?P<task>\d{1,5}):(?:[ ]|(?=\[))"
    r"|\[\d{1,6},(?P<mpi>\d{1,6})\](?:<std(?:out|err)>)?:[ ]?"
    r"|\((?P<actor>raylet|(?:[\w.]{1,60}[ ])?pid=\d{1,9})(?:,[ ]ip=(?P<ip>[\w.:]{1,45}))?\)(?:\x1b?\[0m)?[ ]?"
    r"|\[(?P<boxed>[A-Za-z][\w.-]{0,80})\](?::[ ]?|[ ]|(?=\[))"
    r"|(?:rank|Rank)[ ]?(?P<bare>\d{1,6}):[ ]"
    r"|(?P<pipe>[A-Za-z][\w.-]{0,60})[ ]{0,8}\|{1,2}[ ]"
    r"|(?P<nccl>[A-Za-z\d][\w.-]{0,80}):\d{1,9}:\d{1,9}[ ]\[(?P<gpu>-?\d{1,3})\][ ]"
    r"|\[(?P<mpich>\d{1,6})\][ ](?=[\w.-]{1,80}:\d{1,9}:\d)"
    r"|(?P<host>[A-Za-z\d][\w.-]{0,80}):(?:[ ]|(?=\[))"
    r")"
)
_NOT_NAMES = re.compile(
    r"\.(?:so|py|sh|cc|cpp|cu|h|c|log|txt|ya?ml|json|safetensors|bin)\b|^\d{1,81}$|^(?:attempt|step|epoch|iter|line|xid|c10d"
    r"|pid|v\d|exit|errno|python|[WEIFCD]\d{4}$)",
    re.I,
)
_DIGIT = re.compile(r"\d")
_ADDRESS = re.compile(r"^\d{1,3}(?:\.\d{1,3}){3}$")
_GLOG = re.compile(r"\[?[WEIFCD](\d{1,2})(\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)")
_INNER_RANK = re.compile(r"\[(?:PG [^\[\]]{0,80} )?[Rr]ank[ :]?(\d{1,6})\]")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\-_])")
_FILE_RANK = re.compile(r"(?:^|[/_.-])(?:global[_-]?)?rank[_-]?(\d{1,6})(?=[._/-]|$)", re.I)
_FILE_NODE = re.compile(r"(?:^|[/_-])((?:node|host|worker)[_-]?\d{1,5})(?=[._/-]|$)", re.I)
_FILE_LOCAL = re.compile(r"attempt_\d{1,6}/(\d{1,5})/std(?:out|err)\.log$")


def place_of_source(source: "str | None") -> Tuple[Optional[int], Optional[str], Optional[int]]:
    """(rank, node, local rank) as the name of a log file tells: `node-1/logs/rank-3.log`."""
    if not source:
        return None, None, None
    ranks, nodes = _FILE_RANK.findall(source), _FILE_NODE.findall(source)
    local = _FILE_LOCAL.search(source)
    return (
        int(ranks[-1]) if ranks else None,
        nodes[-1] if nodes else None,
        int(local.group(1)) if local else None,
    )


def split(chunks: Iterable[Union[bytes, str]]) -> Iterator[str]:
    """Lines of a stream of chunks, cut at `\\n` and `\\r`; a line without an end is given out in pieces of
    at most `LINE_LIMIT` characters' ends, so memory is bounded whatever the stream holds."""
    rest, dropped = "", False
    for chunk in chunks:
        text = chunk.decode("utf-8", "replace") if isinstance(chunk, bytes) else chunk
        if "\r" in text:
            text = text.replace("\r", "\n")
        parts = (rest + text).split("\n")
        rest = parts.pop()
        for number, part in enumerate(parts):
            yield part if not (dropped and number == 0) else "… " + part
        if parts:
            dropped = False
        if len(rest) > CHUNK_BYTES:
            if not dropped:
                yield rest[:LINE_LIMIT]
            rest, dropped = rest[-LINE_LIMIT:], True
    if rest:
        yield rest


def read(file: IO[Any]) -> Iterator[str]:
    """The lines of an open file, bytes or text, in bounded memory."""
    return split(iter(lambda: file.read(CHUNK_BYTES), file.read(0)))


def parse(text: Union[str, bytes, Iterable[str], IO[Any]], source: "str | None" = None) -> Iterator[Line]:
    """Lines with their prefixes read: of a whole text, of an open file (in bounded memory whatever it holds), or
    of an iterable of lines."""
    if isinstance(text, (str, bytes)):
        lines: Iterable[str] = split((text,))
    else:
        lines = read(text) if hasattr(text, "read") else text  # type: ignore[arg-type]  # a file has read
    rank, node, local = place_of_source(source)
    for number, raw in enumerate(lines, 1):
        yield _parse_line(raw, rank, node, local, source, number)


def _is_name(value: str) -> bool:
    """Whether a label is a machine's: `RuntimeError` and `libnccl.so.2` are none, `node1` and `10.0.0.5` are."""
    return _DIGIT.search(value) is not None and (
        _ADDRESS.match(value) is not None or not _NOT_NAMES.search(value)
    )


_QUOTE = re.compile(r"(?:> ){1,3}")
_RANK, _NODE, _TIME, _LOCAL, _TASK = range(5)
_NUMBERS = {
    "rank": _RANK,
    "bare": _RANK,
    "mpi": _RANK,
    "mpich": _RANK,
    "local": _LOCAL,
    "gpu": _LOCAL,
    "task": _TASK,
}


def _parse_line(
    raw: str, rank: "int | None", node: "str | None", local: "int | None", source: "str | None", number: int
) -> Line:
    if len(raw) > LINE_LIMIT:
        raw = raw[: LINE_LIMIT - 1024] + " … " + raw[-1024:]
    if "\x1b" in raw:
        raw = _ESCAPE.sub("", raw)
    place: List[Any] = [rank, node, None, local, None]
    if raw.startswith("> "):
        raw = _QUOTE.sub("", raw, count=1)  # a log quoted in a mail or a thread
    start = _peel(raw, place)
    body = raw[start:] if start else raw
    rank, node, time, local, task = place
    if time is None and body and body[0] in "[WEIFC":
        stamp = _GLOG.match(body)
        if stamp is not None:
            time = "0000-" + stamp.group(1).zfill(2) + "-" + stamp.group(2) + " " + stamp.group(3)
    if rank is None and "ank" in body:
        inner = _INNER_RANK.search(body)  # glued behind a progress bar, or `[PG 0 Rank 3] Watchdog caught`
        rank = int(inner.group(1)) if inner else None
    return _new(Line, (body, rank, node, source, time, local, task, number))


def _peel(raw: str, place: List[Any]) -> int:
    """Takes the layers of prefixes off and notes in `place` what they say; returns where the text begins."""
    start = 0
    for _ in range(MAX_LAYERS):
        found = _LAYER.match(raw, start)
        if found is None:
            break
        kind = found.lastgroup or ""
        value = found.group(kind)
        slot = _NUMBERS.get(kind)
        if slot is not None:
            place[slot] = int(value)
            if kind == "gpu" and place[_NODE] is None:
                place[_NODE] = found.group("nccl")
        elif kind == "stamp" or kind == "date":
            place[_TIME] = value
        elif kind != "actor":
            if kind != "ip" and not _is_name(value):
                break
            place[_NODE] = value
        start = found.end()
    return start


_new: Any = tuple.__new__  # half the cost of Line(...), which is called for every line

_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)


def seconds(time: "str | None") -> Optional[float]:
    """A time stamp as seconds since its year's start: glog writes no year, so no year is looked at.

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


def clean(text: str, limit: int = EVIDENCE_LIMIT) -> str:
    """A line as evidence: no escape codes, no control or direction characters, one line, bounded."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * limit])
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
