"""The prefixes of log lines: rank, machine and time as tools write them, and the column in which the text begins.

Prefixes come in layers and in any order: `gpu-node-01: [2026-11-20 23:05:06] [rank0]: text`. Each layer is taken off.
One that fits no tool's form is learned from the log: the text before a traceback's heading is also before the other
lines of its stream. Every expression here is linear: no nested repetition without limits, bounded lengths.
"""

from __future__ import annotations

import re
import time as clock
from typing import Any, List, Optional, Tuple
from typing import Pattern as Regex

from allranks.diagnose.digits import values_matter
from allranks.diagnose.set_aside import OF_DAEMON

MAX_LAYERS = 8
LEARNED_LIMIT = 200
"""Characters before a traceback's heading that may be a prefix."""

SHAPES_LEARNED = 16
EARLIEST, LATEST = "14", "19"
"""First digits of seconds since 1970 from 2014 to 2033."""

RANK, NODE, TIME, LOCAL, TASK = range(5)
"""The indices of a place, which is a list of the five values that prefixes give."""

Spans = List[Tuple[int, int]]
"""The positions in a line of the characters that name a rank or a machine in a prefix."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_TIME = r"(?!\d[\d-]{5,9}[T_]\d\d:)"
"""A day and an hour in brackets look like a machine with the numbers of its processes."""

_DATE = r"\d{4}[-/]\d\d[-/]\d\d[T _:]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)?"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ ]"
_MONTH_DAY = r"(?:" + "|".join(_MONTHS) + r")[ ]{1,2}\d{1,2}[ ]\d\d:\d\d:\d\d"
_HOST = r"[A-Za-z\d][\w.-]{0,80}"

# One alternative per kind of prefix; the name of its last group is the kind. A host's name must contain a digit or be
# in brackets: `gpu-node-01: ` is one, `RuntimeError: ` is not. Names of files (`libnccl.so.2: cannot open`) are not
# hosts either.
_LAYER = re.compile(
    r"[ \t]{0,8}(?:\x1b?\[\d{1,2}m)?(?:"
    r"\[(?:rank|Rank|RANK)[ :=]{0,2}(?P<rank>\d{1,6})\](?::|(?=\W))[ ]?"
    r"|\[(?:default|trainer)(?P<local>\d{1,4})\]:[ ]?"
    r"|\[(?P<hour>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\][ ]{1,4}(?=\S)"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?[ ]\[(?P<clocked>\d{1,4})\][ ]"
    r"|(?P<nccl>" + _HOST + r"):\d{1,9}:\d{1,9}[ ]\[(?P<gpu>-?\d{1,3})\][ ]"
    r"|\[" + _NO_TIME + r"(?P<ucx>" + _HOST + r"):\d{1,9}:\d{1,9}\][ \t]{1,12}"
    r"|\[(?P<signal>"
    + _HOST
    + r"):\d{1,9}\][ ](?=\*\*\* |Signal|Failing at|\[[ ]?\d{1,2}\] |mca|PMI|OPAL|ORTE|PRTE)"
    r"|\[" + _NO_TIME + r"(?P<ompi>" + _HOST + r"):\d{2,9}\][ ]"
    # times
    # SGLang
    r"|\[(?:"
    + _DATE
    + r"|\d\d:\d\d:\d\d)[ ](?P<groups>(?:(?:DP|PP|ATTN_[A-Z]{2})\d{1,3}[ ]){0,3})TP(?P<tensor>\d{1,5})"
    r"(?:[ ]EP\d{1,5})?\][ ]"
    r"|\[(?P<stamp>" + _DATE + r")" + _ZONE + r"\][ ]?"
    r"|(?P<date>" + _DATE + _ZONE + r")(?:[ \t]{0,16}[|][ ]?|[ \t]-[ \t]|[:]?[ \t])"
    r"|" + _WEEKDAY + r"(?P<full>" + _DATE + r")[ ][A-Z+\d:-]{2,6}[ ]"
    r"|" + _WEEKDAY + r"(?P<ctime>" + _MONTH_DAY + r"[ ]\d{4})[ ]?"
    r"|(?P<syslog>" + _MONTH_DAY + r"(?:\.\d{1,9})?)(?:[ ]|$)"
    r"|\[?(?P<epoch>\d{10}(?:\d{3}|\.\d{1,9})?)\]?:?[ \t]"
    r"|\[[ ]{0,8}(?P<uptime>\d{1,9}\.\d{6})\][ ]"
    r"|(?P<clock>\d\d:\d\d:\d\d[.,]\d{3,9})[ ](?=\S)"
    r"|(?P<time>\d\d:\d\d:\d\d)[ ](?=[\[(](?:rank|Rank|RANK|worker|actor|learner|trainer|proc|process|[Rr]\d))"
    # system logs
    r"|<\d{1,3}>(?![ ])(?:\d[ ](?P<when>"
    + _DATE
    + r")"
    + _ZONE
    + r"[ ](?P<rfc>"
    + _HOST
    + r")[ ][\w./-]{1,48}[ ]"
    r"(?:\d{1,9}|-)[ ][\w.-]{1,32}[ ](?:-|\[[^\]]{0,200}\])[ ])?"
    r"|(?P<unit>" + _HOST + r")[ ](?!" + OF_DAEMON + r")(?:[\w.@/:()-]{1,64}\[\d{1,9}\]|kernel):[ ]?"
    # containers
    r"|(?P<cri>std(?:out|err)[ ][FP])(?:[ ]|$)"
    r"|\[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,253}\](?:[ ]|$)"
    r"|(?P<labels>\{[a-z_]{1,40}=\"[^\"]{0,200}\"(?:,[ ]?[a-z_]{1,40}=\"[^\"]{0,200}\"){0,20}\})[ ]"
    # launchers
    r"|(?P<task>\d{1,5}):(?:[ ]|(?=\[))"
    r"|\[(?:[\w.-]{1,80}@)?\d{1,6},(?P<mpi>\d{1,6})\](?:<std(?:out|err)>)?:[ ]?"
    r"|\[(?P<horovod>\d{1,6})\]<std(?:out|err)>:[ ]?"
    r"|\[\d{1,6},mpirank:(?P<mpirank>\d{1,6}),(?P<algo>[\w.-]{1,80})\](?:<std(?:out|err)>)?:[ ]?"
    r"|\((?P<sky>[\w.-]{1,60}),[ ]rank=\d{1,5},[ ]pid=\d{1,9}(?:,[ ]ip=[\w.:]{1,45})?\)[ ]?"
    r"|\((?:Vllm)?Worker[_ ](?:TP|rank=)(?P<vllm>\d{1,5})[ ]pid=\d{1,9}\)[ ]?"
    r"|\((?P<actor>raylet|(?:[\w.-]{1,60},?[ ])?pid=\d{1,9})(?:,[ ]ip=(?P<ip>[\w.:]{1,45}))?\)(?:\x1b?\[\d{1,2}m)?[ ]?"
    r"|\[[A-Za-z_]{1,30}\d{1,5}\|(?P<global>\d{1,6})\]:[ ]?"
    r"|(?P<grep>[\w./@+-]{1,200}\.(?:log|out|err|txt))[:-](?:\d{1,9}[:-])?"
    r"|\[[Rr](?P<short>\d{1,5})/\d{1,5}\]:?[ ]"
    r"|\[(?P<boxed>[A-Za-z][\w.-]{0,80})\](?::[ ]?|[ ]|(?=\[))"
    r"|(?:rank|Rank)[ ]?(?P<bare>\d{1,6})(?:\[\d{1,9}\]\[\w{1,40}\])?:[ ]"
    r"|(?P<pipe>[A-Za-z][\w.-]{0,60})[ ]{0,8}\|{1,2}[ ]"
    r"|(?P<tab>" + _HOST + r")\t"
    r"|\((?:rank|worker|process|proc|actor|learner|trainer)[ _:-]?(?P<paren>\d{1,6})(?:,[ ]pid[ =]?\d{1,9})?\)"
    r"(?:[ ]?:)?[ ]"
    r"|[|][ ](?=\[(?:rank|default)\d{1,6}\])"
    r"|\[(?P<mpich>\d{1,6})\][ ](?=[\w.-]{1,80}:\d{1,9}:\d)"
    r"|(?P<host>" + _HOST + r"):(?:[ ]|(?=\[))"
    r")"
)
_NOT_NAMES = re.compile(
    r"\.(?:so|py|sh|cc|cpp|cu|h|c|log|txt|ya?ml|json|safetensors|bin)\b|^\d{1,81}$|^(?:attempt"
    r"|step|epoch|iter|line|xid|c10d"
    r"|pid|v\d|exit|cc\d(?:plus|obj|objplus)?$|errno|python|[WEIFCD]\d{4}$|E[A-Z]\d{4}$)"
    r"|(?-i:\.[A-Z]{1,9}[a-z]\w{0,80}$)",  # a class with its module
    re.I,
)
_POINTER = re.compile(r"^0x[\da-f]{1,16}$", re.I)
_OTHER_GROUP = re.compile(r"(?:DP|PP)(?:[1-9]|\d\d)")
"""Of another group of ranks, whose size is not told: the rank in its group is not the global one then."""

_DAEMON = "slurmstepd-"
"""SLURM's daemon on a node puts its own name before the node's."""

_DIGIT = re.compile(r"\d")
_ADDRESS = re.compile(r"^\d{1,3}(?:\.\d{1,3}){3}$")
_NUMBERS = {
    **dict.fromkeys(
        ("rank", "bare", "clocked", "global", "horovod", "mpi", "mpich", "paren", "short", "tensor", "vllm"), RANK,
    ),
    "local": LOCAL, "gpu": LOCAL, "task": TASK,
}  # fmt: skip
_TIMES = frozenset(("stamp", "date", "full", "ctime", "syslog", "epoch"))
_SAY_NO_PLACE = frozenset(("", "actor", "uptime", "clock", "hour", "time", "cri"))
_LABEL = re.compile(r'(?<![a-z])(?:node_?name|host(?:name)?|node|pod(?:_name)?|instance)="([^"]{1,200})"')


def is_name(value: str) -> bool:
    """Whether a label is a machine's: `RuntimeError` and `libnccl.so.2` are none, `node1` and `10.0.0.5` are."""
    return _DIGIT.search(value) is not None and (
        _ADDRESS.match(value) is not None or not (_NOT_NAMES.search(value) or _POINTER.match(value))
    )


def peel(raw: str, place: List[Any], start: int = 0, spans: "Optional[Spans]" = None) -> int:
    """Skips the layers of prefixes and stores their values in `place`; returns the index at which the text begins.

    Whether something is a layer never depends on a digit's value, so lines that differ only in digits have the same
    layers.
    """
    for _ in range(MAX_LAYERS):
        found = _LAYER.match(raw, start)
        if found is None or found.end() == start:
            break
        kind = found.lastgroup or ""
        slot = _NUMBERS.get(kind)
        if slot is not None:
            if kind != "tensor" or not _OTHER_GROUP.search(found.group("groups")):
                place[slot] = int(found.group(kind))
            if kind == "gpu" and place[NODE] is None:
                place[NODE] = found.group("nccl")
        elif kind in _TIMES:
            place[TIME] = stamp(kind, found.group(kind)) or place[TIME]
        elif kind not in _SAY_NO_PLACE and not _note(kind, found, place, start):
            break
        if spans is not None and kind not in _TIMES and kind not in _SAY_NO_PLACE:
            spans.extend(found.span(n) for n, text in found.groupdict().items() if text and n != "when")
        start = found.end()
    return start


def _note(kind: str, found: "re.Match[str]", place: List[Any], start: int) -> bool:
    """Notes a prefix that names a machine; False if it names none, so that it belongs to the text."""
    value = found.group(kind)
    if kind == "grep":
        rank, node, local, task = place_of_source(value)
        for slot, told in ((RANK, rank), (NODE, node), (LOCAL, local), (TASK, task)):
            place[slot] = told if told is not None else place[slot]
        return True
    if kind == "labels":
        named = _LABEL.search(value)
        place[NODE] = named.group(1) if named is not None else place[NODE]
        return True
    if kind == "unit" and not start:
        return False  # words and a number in brackets are prose; a system's log begins with a time
    if kind not in ("ip", "unit", "rfc", "pod", "sky", "algo", "ucx", "signal") and not is_name(value):
        return False
    if kind == "rfc":
        place[TIME] = found.group("when")
    if kind == "algo":
        place[RANK] = int(found.group("mpirank"))
    place[NODE] = value[len(_DAEMON) :] if value.startswith(_DAEMON) else value
    return True


def stamp(kind: str, value: str) -> str:
    """A time in the form in which all are compared, `2026-01-05 10:11:12.25`; an unknown year is 0000. Empty if the
    number is not a time in the years 2014 to 2033."""
    if kind == "epoch":
        if not EARLIEST <= value[:2] <= LATEST:
            return ""
        whole, _, fraction = value.partition(".")
        if len(whole) == 13:
            whole, fraction = whole[:10], whole[10:]
        return clock.strftime("%Y-%m-%d %H:%M:%S", clock.gmtime(int(whole))) + "." + (fraction or "0")
    if kind in ("syslog", "ctime"):
        month, day, rest = value.split(None, 2)
        at, _, year = rest.partition(" ")
        return f"{year or '0000'}-{_MONTHS.index(month) + 1:02}-{int(day):02} {at}"
    return value


# ---- the names of files ----

_FILE_RANK = re.compile(
    r"(?:(?<!local)(?<!node)[/_.-]|^)(?:(?:global[_-]?)?rank|std_log_process)[._-]?(\d{1,6})(?=[._/-]|$)",
    re.I,
)
_FILE_NODE = re.compile(
    r"(?:^|[/_.])((?:[A-Za-z\d]{1,40}-){0,6}(?:node|host|worker|algo)[_-]?\d{1,5})(?=[._/-]|$)", re.I
)
_FILE_POD = re.compile(
    r"/pods/[^/_]{1,253}_([^/_]{1,253})_[^/_]{1,253}/|/containers/([^/_]{1,253})_[^/_]{1,253}_"
)
_FILE_LOCAL = re.compile(
    r"(?:attempt_\d{1,6}/|local[_-]?rank[_-]?)(\d{1,5})(?:/std(?:out|err))?\.(?:log|out|err|txt)$", re.I
)
_FILE_TASK = re.compile(r"(?:^|[/_.-])(?!20\d\d[_.-])\d{3,12}[_.-](\d{1,5})\.(?:out|err|log|txt)$")


_SETTINGS = re.compile(r"(?i)(?<![a-z])(?:lora|lr|alpha|epochs?)(?![a-z])")
"""In names that people build from a training's settings, where a rank is LoRA's."""


_RANKS_LOG = re.compile(r"(?i)rank[_-]?\d{1,6}\.\w{1,9}$")
"""The end of the name of one rank's log."""


def _is_setting(source: str, at: int) -> bool:
    begun, end = source.rfind("/", 0, at) + 1, source.find("/", at)
    part = source[begun : end if end >= 0 else len(source)]
    return _SETTINGS.search(part) is not None and _RANKS_LOG.search(part) is None


def place_of_source(
    source: "str | None",
) -> "tuple[Optional[int], Optional[str], Optional[int], Optional[int]]":
    """(rank, node, local rank, task) from the name of a log file: `node-1/logs/rank-3.log`, `48213_3.out`."""
    if not source:
        return None, None, None, None
    ranks = [
        found.group(1) for found in _FILE_RANK.finditer(source) if not _is_setting(source, found.start(1))
    ]
    nodes, pod = _FILE_NODE.findall(source), _FILE_POD.search(source)
    local, task = _FILE_LOCAL.search(source), _FILE_TASK.search(source)
    return (
        int(ranks[-1]) if ranks else None,
        pod.group(1) or pod.group(2) if pod is not None else nodes[-1] if nodes else None,
        int(local.group(1)) if local else None,
        int(task.group(1))
        if task and not ranks and "/worker-" not in source
        else None,  # Ray's end in a job and a pid
    )


# ---- prefixes that no tool's form fits ----

_BOX = re.compile(r"[╭┌┏][─━ ]{0,200}$")
"""The frame that rich draws around a traceback begins before its heading."""

_TORCH = re.compile(r"\[(?:rank|default)\d{1,6}\]")
_ANNOUNCED = re.compile(r"[a-z] (?:exception|error|failure)[:.]?[ ]?$")
"""Words that announce a traceback: `Scheduler hit an exception: `."""

_PART = re.compile(
    r"(?P<date>"
    + _DATE
    + r")"
    + _ZONE
    + r"|(?<![A-Za-z])(?:global[_ ]?)?rank[ =:_\"'-]{0,3}(?P<rank>\d{1,6})(?!\d)"
    r"|local[_ ]?rank[ =:_\"'-]{0,3}(?P<local>\d{1,6})(?!\d)"
    r"|(?P<word>[A-Za-z\d][\w.-]{0,80})|(?P<other>.)",
    re.I,
)
_LONE_NUMBER = re.compile(r"^\W{0,3}(\d{1,6})\W{1,4}$")
_LONE_NAME = re.compile(r"^([A-Za-z][\w.-]{0,60})[ ]{0,16}(?::|\||>)[ ]?$")
_LEVELS = frozenset(
    ("debug", "info", "warn", "warning", "error", "critical", "fatal", "stderr", "stdout", "root")
)


def learn(head: str) -> "Optional[Regex[str]]":
    """An expression for prefixes like this one, which was before a traceback's heading. None: it is not one."""
    inner = _TORCH.search(head)
    if inner is not None:
        head = head[: inner.start()]
    head = _BOX.sub("", head)
    if not head or len(head) > LEARNED_LIMIT or "%|" in head or "/s]" in head or _ANNOUNCED.search(head):
        return None
    if not head.strip():
        return re.compile(re.escape(head))  # the whole log is indented
    number = _LONE_NUMBER.match(head)
    if number is not None:
        before, after = head[: number.start(1)], head[number.end(1) :]
        return re.compile(re.escape(before) + r"(?P<rank>\d{1,6})" + re.escape(after))
    name = _LONE_NAME.match(head)
    if name is not None and name.group(1).lower() not in _LEVELS:
        return re.compile(r"(?P<node>" + re.escape(name.group(1)) + ")" + re.escape(head[name.end(1) :]))
    return re.compile(_shape(head))


def _shape(head: str) -> str:
    """Numbers may differ from line to line, words may not; the last word that looks like a machine's name is one."""
    parts: List[str] = []
    known = set()
    name = -1
    for found in _PART.finditer(head):
        kind, whole = found.lastgroup or "", found.group()
        value = found.group(kind)
        if kind in ("rank", "local") and kind not in known:
            parts.append(re.escape(whole[: -len(value)]) + rf"(?P<{kind}>\d{{1,6}})")
        elif kind == "date" and kind not in known:
            parts.append(r"(?P<date>" + _DATE + r")" + _ZONE)
        elif _DIGIT.search(whole):
            name = len(parts) if kind == "word" and _is_machine(value) else name
            parts.append(r"[\w.:,+-]{1,80}")
        else:
            parts.append(re.escape(whole))
        known.add(kind)
    if name >= 0:
        parts[name] = r"(?P<node>[A-Za-z\d][\w.-]{0,80})"
    return "".join(parts)


def _is_machine(word: str) -> bool:
    if _ADDRESS.match(word):
        return True
    return "-" in word.strip("-") and is_name(word) and any(c.isalpha() for c in word)


class Learned:
    """The shapes of one log's prefixes, as far as tracebacks have shown them. `numbered`: one of them holds a digit, so
    that it fits one line and not another that differs in digits alone."""

    __slots__ = ("_heads", "numbered", "shapes")

    def __init__(self) -> None:
        self._heads: "set[str]" = set()
        self.numbered = False
        self.shapes: "List[Regex[str]]" = []

    def heading(self, head: str) -> None:
        """`head` was before the heading of a traceback, after all known layers were taken off."""
        if len(self.shapes) >= SHAPES_LEARNED or head in self._heads:
            return
        self._heads.add(head)
        shape = learn(head)
        if shape is not None and all(shape.pattern != known.pattern for known in self.shapes):
            self.shapes.append(shape)
            self.numbered = self.numbered or values_matter(shape.pattern)

    def peel(self, raw: str, start: int, place: List[Any], spans: "Optional[Spans]" = None) -> int:
        """Takes a learned prefix off, and the known layers behind it."""
        for shape in self.shapes:
            found = shape.match(raw, start)
            if found is None:
                continue
            told = found.groupdict()
            for name, slot in (("rank", RANK), ("local", LOCAL)):
                if told.get(name) is not None:
                    place[slot] = int(told[name])
            place[NODE] = told.get("node") or place[NODE]
            place[TIME] = told.get("date") or place[TIME]
            if spans is not None:
                spans.extend(found.span(n) for n, text in told.items() if text and n != "date")
            return peel(raw, place, found.end(), spans)
        return start
