"""The memory of one rank and of one log file while lines are read, and the state of its tracebacks."""

from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from allranks.core.library_code import is_own
from allranks.diagnose.lines import Line
from allranks.diagnose.repeats import Said
from allranks.diagnose.stretches import Frames

A_TRACEBACK, _IGNORED, CHAINED, A_FRAME, _SHOWN = "traceback", "ignored", "chained", "frame", "shown"
FRAMES = (A_FRAME, _SHOWN)
HEADINGS = (
    ("Traceback (mo", A_TRACEBACK),  # also if it was cut off
    ("Exception ignored ", _IGNORED),
    ("Error in atexit._run_exitfuncs", _IGNORED),  # up to Python 3.9
    ("--- Logging error ---", _IGNORED),  # of `logging`, which goes on
    ("Error in callback <", _IGNORED),  # of IPython, which goes on
    ("Examining the path of ", _IGNORED),  # of Streamlit's watcher, which goes on
    ("Ignoring exception in ", _IGNORED),  # of discord.py, which goes on
    ("Jax plugin configuration error", _IGNORED),  # of JAX, which goes on without it
    ("During handling of the above exception", CHAINED),
    ("The above exception was the direct cause", CHAINED),
)
HEADED = re.compile(r"[A-Z]\w{2,60}[ ]{2,80}Traceback \(mo")
"""IPython's heading names the exception."""

FRAME = re.compile(r'\s{0,8}File "[^"]{1,400}", line \d')
_PATH = r"(?P<path>(?:[~/.]|[A-Z]:\\)[^\s\"│:]{0,300}\.py)"
_FRAMES = (  # of rich, of IPython
    re.compile(  # in its box a long path may have begun in the line before, and its line's number may go on
        r"│[ ]{1,4}(?P<path>[\w.~/][^\s\"│:]{0,300}\.py):(?P<line>\d{1,7})(?: in(?: (?P<name>[^\s│]{1,80}))?)?"
        r"[ ]{0,200}│$"
    ),
    re.compile(r"\W{0,8}" + _PATH + r":(?P<line>\d{1,7}) in(?: (?P<name>[^\s│]{1,80}))?[ ]{0,200}│?$"),
    re.compile(
        r"\s{0,4}(?:File )?" + _PATH + r"(?::(?P<line>\d{1,7}))?,? in (?P<name>[\w.<>]{1,120})(?:\(|$)"
    ),
    re.compile(r"\s{0,4}File " + _PATH + r":(?P<line>\d{1,7})(?P<name>)$"),
)

NOT_IGNORED, IGNORING, WAS_IGNORED = range(3)
"""Whether Python has announced that it ignores the next exception (IGNORING), or ignored the last one."""

EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w{0,60}\.){0,8}(_?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Failure|Exit|Died|Iteration"
    r"|Warning)"
    r"|Exception|Error)(?:: (?![-+]?\d{1,9}\.\d{1,30}(?:[eE][-+]?\d{1,4})?\s{0,4}%?$)|:$|$)"
)
"""An exception with its message. `Error: 0.0123` is a measured error."""

LOOSE = re.compile(
    r"^(?!(?:INFO|WARNING|WARN|ERROR|DEBUG|NOTE|Epoch|Step|Train|Eval)\b)"
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}([A-Z]\w{0,60}|error|timeout)(?:: |:$|$)"
)
"""Any dotted name that ends a traceback: classes need not be called Error (`queue.Empty`, `zlib.error`)."""

CODE = re.compile(
    r"^(?:\s{0,80}(?:(?:raise|assert|elif|def|class)\b[^:]|(?:from [\w.]{1,120} )?import [\w*(]"
    r"|(?:print|log(?:ger|ging)?\.\w{4,12}"
    r"|warnings\.warn)\(|#|//"
    r"|\"\"\"|[+-][ ]{2}|-{2,8}>[ ]{0,4}\d{1,7}[ ]|\*\*\w[\w.]{0,60}\*\*[ ]\|)|[ ]{4,80}\S.{0,200}[ ]#[ ])"
)
"""A line of source code, in a traceback or from a script that prints itself. It contains messages that a program could
print, not messages that it has printed."""

TITLE, TITLE_WITHIN = "# ", 3
"""The beginning of a title, and the lines of a text in which it is one. Further below it is a comment in a program."""

WRAPPERS = frozenset((
    "ChildFailedError", "CalledProcessError", "RayTaskError", "SystemExit", "ProcessRaisedException",
    "ProcessExitedException", "SignalException",
))  # fmt: skip
"""Exceptions of launchers: they repeat that another process failed."""

CAUGHT = re.compile(r"\w{1,60}: Caught (\w{1,60}) in (?:DataLoader worker|pin memory thread|replica) ")
"""torch raises an exception of another process or thread again; its own traceback follows."""

RUNS_APART = 100
"""Lines between two exceptions of one stream, from which on each ended a run of its own."""

FRAMES_KEPT, CODE_KEPT = 6, 200
FOLLOWS_WITHIN = 8
"""After this number of lines a traceback counts as a new one. In a log of many ranks, lines of other ranks may come in
between."""


ANNOUNCED_WITHIN = 3
"""Lines that still belong to the message of an exception whose first line ends with a colon."""

STATED_FIRST, STATED_LAST = 8, 3
"""Lines that say in words that something failed, as many as are kept."""

CLOSED, HEADLESS, OPEN = range(3)
CUT_WITHIN = 8
"""Lines after the last frame of a traceback that is cut off, as CPython prints it."""

"""Whether a stream is in a traceback. If its heading was cut off (HEADLESS), only the name of an exception ends it,
soon after a frame, because other programs print stacks too."""


class Raised(NamedTuple):
    """The last line of a traceback. `known` are the symptoms found in it, `frames` the innermost frames above it, the
    innermost last, and `own` is the innermost one of the user's own code."""

    kind: str
    line: Line
    order: int
    at: Optional[float]
    communication: bool
    known: Tuple[str, ...]
    steps: int
    frames: Tuple[str, ...] = ()
    own: str = ""
    context: str = ""
    """The words before the exception in its line, or the next line of its message."""
    code: str = ""
    """The statement of the innermost frame."""
    chained: bool = False
    """Whether it followed from the exception above it."""
    of_thread: bool = False
    """Whether it ended a thread only. The program goes on without it."""
    length: int = 0
    """Lines of its stream from the heading of the first traceback to this line."""
    named: Optional[int] = None
    """The rank that the line above the heading names."""
    of_main: bool = False
    """Whether the traceback shows that it ended its program (`python -m`)."""


class Quoted(NamedTuple):
    """An exception without a traceback. `number` is the number of its line in its stream; `sure` says that the line is
    about it."""

    number: int
    sure: bool
    raised: Raised


class Told(NamedTuple):
    """An exception that its rank reported in parts. `text` is its class and its message. `communication` is None if its
    base classes are not known."""

    kind: str
    message: str
    frames: Sequence[Tuple[str, Optional[int], str]] = ()
    communication: Optional[bool] = None

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.message}"


class Seen:
    """The output of one rank, or of one unlabelled stream."""

    __slots__ = (
        "announced", "bare", "begun", "chained", "code", "complaints", "cut", "ends", "frames", "headed",
        "ignored", "last_plain", "last_step", "lines", "named", "node", "own", "process", "quoted", "raised", "repeats",
        "source", "stated", "steps", "task", "thread", "top", "traceback", "uncaught",
    )  # fmt: skip

    def __init__(self, line: Line) -> None:
        self.task = line.task
        self.last_plain: Optional[Line] = None
        self.node, self.source = line.node, line.source
        self.lines = 0
        self.steps = self.last_step = 0
        """How many steps it printed, and the line over all sources of the last one."""
        self.traceback = CLOSED
        self.frames: Tuple[str, ...] = ()
        self.own = self.code = ""
        self.ignored = NOT_IGNORED
        self.headed = 0
        self.raised: List[Raised] = []
        self.begun = 0
        """The line in this stream that heads the first traceback of a chain."""
        self.named: Optional[int] = None
        """The rank that the line above it names."""
        self.process: Tuple[int, Optional[int]] = (0, None)
        """The line in this stream that names the process which raised the next exception, and its rank."""
        self.thread = 0
        """The line in this stream that says that a thread raised the next exception."""
        self.top = 0
        """The line in this stream that shows that nobody handled the next exception: it ends the program."""
        self.chained = False
        """Whether the next exception followed from the last one."""
        self.uncaught: Tuple[int, int, int] = (0, 0, 0)
        """How many tracebacks it has, and the lines in this stream of the first and the last one."""
        self.ends: Tuple[int, int] = (0, 0)
        """The lines over all sources of the last uncaught exception before the latest group of them, and of the last
        one. If this is the output of a single program, the first ended an earlier run of it."""
        self.bare: Optional[Tuple[int, Line, Any]] = None
        """The last exception outside a traceback: the number of its line, the line, its shape."""
        self.announced: Optional[Tuple[int, bool]] = None
        """The line of the last exception whose message goes on in the next lines, and whether it ended a traceback."""
        self.cut: Optional[Tuple[bool, Line, int, int, int]] = None
        """The last heading or frame of a traceback: whether the heading named the exception, the line that shows it
        best, the number of that line over all sources, the steps before it, the last frame's line in this stream."""
        self.quoted: List[Quoted] = []
        """The last exceptions outside a traceback, with the number of their line in this stream."""
        self.stated: List[Quoted] = []
        """The first and the last lines that say in words that something failed."""
        self.repeats: Said = {}
        self.complaints: List[Any] = []
        """The last lines that complain of something (`complaints.Heard`)."""

    @property
    def is_cut(self) -> bool:
        """Whether its last traceback lacks its exception, and Python did not announce that it ignores it."""
        return self.cut is not None and self.traceback != CLOSED and self.ignored == NOT_IGNORED

    def is_cut_after(self, end: int) -> bool:
        """Whether this output ends in a cut traceback that began after line `end` of all sources."""
        if not self.is_cut or self.cut is None:
            return False
        return self.cut[2] > end and self.lines - self.cut[4] <= CUT_WITHIN


def heading_of(text: str) -> str:
    """The kind of a line that comes before an exception; empty if the line is not such a line."""
    if "File" in text and FRAME.match(text) is not None:
        return A_FRAME
    if ".py" in text and frame_of(text):
        return _SHOWN
    return next((kind for words, kind in HEADINGS if words in text), "")


def frame_of(text: str) -> str:
    """A frame as CPython prints it; empty if the line is not a frame of rich or IPython."""
    for form in _FRAMES:
        found = form.match(text)
        if found is not None:
            told = found.groupdict()
            name = (told["name"] or "<module>").rpartition(".")[2]
            return f'File "{told["path"]}", line {told["line"] or "?"}, in {name}'
    return ""


def head(seen: Seen, heading: str, text: str) -> None:
    """Notes a line that comes before an exception. If Python ignores an exception, it ignores the exceptions that are
    chained to it too."""
    if heading in FRAMES:
        text = frame_of(text) if heading == _SHOWN else text
        if seen.traceback == CLOSED:
            seen.frames, seen.own = (), ""
        seen.frames, seen.code = (*seen.frames[1 - FRAMES_KEPT :], text), ""
        if is_own_frame(text):
            seen.own = text
        if seen.traceback != OPEN:
            seen.traceback, seen.headed = HEADLESS, seen.lines
        return
    if heading == A_TRACEBACK and not seen.chained:
        seen.begun, seen.named = seen.lines, _named_above(seen)
        seen.thread = seen.thread if seen.lines - seen.thread <= 1 else 0
    if heading == _IGNORED:
        seen.ignored = IGNORING
    elif heading == CHAINED:
        seen.ignored = IGNORING if seen.ignored == WAS_IGNORED else NOT_IGNORED
    elif seen.ignored == WAS_IGNORED or seen.lines - seen.headed > FOLLOWS_WITHIN:
        seen.ignored = NOT_IGNORED
    seen.traceback = CLOSED if heading == CHAINED else OPEN
    seen.chained = seen.chained or heading == CHAINED
    seen.frames, seen.own, seen.code, seen.headed = (), "", "", seen.lines


_POINTED = re.compile(r"(?:[-❱]{2,8}>|❱)[ ]{0,4}\d{1,7}[ ]")


def note_code(seen: Seen, text: str) -> None:
    """Notes the statement that a traceback shows below a frame, if it is the last line so far. Marks below it do not
    count as a line."""
    if seen.traceback == CLOSED:
        return
    pointed = _POINTED.match(text)
    if pointed is not None or not text.strip() or text.strip(" ~^"):
        is_code = pointed is not None or (text[:2] == "  " and text[2:6] != "File")
        seen.code = text[pointed.end() if pointed else 0 :].strip()[:CODE_KEPT] if is_code else ""


def take_frames(seen: Seen, run: Frames, order: int, steps: int) -> None:
    """The same as reading the lines one by one; `order` is the number of the last frame over all sources."""
    before = seen.lines
    if run.headed:
        seen.lines, seen.cut = before + 1, None
        head(seen, A_TRACEBACK, "")
    elif seen.traceback == CLOSED:
        seen.frames, seen.own = (), ""
    seen.frames = (*seen.frames, *run.texts)[-FRAMES_KEPT:]
    seen.own, seen.code, seen.lines = run.own or seen.own, "", before + run.number
    if seen.traceback != OPEN:
        seen.traceback, seen.headed = HEADLESS, seen.lines
        seen.last_plain = run.plain or seen.last_plain
    if run.plain is not None and run.plain.number > run.last.number:
        note_code(seen, run.plain.text)
    note_cut(seen, False, run.last, order, steps)
    seen.lines = before + run.lines


def is_own_frame(text: str) -> bool:
    return is_own(text.partition('File "')[2].partition('"')[0])


def traceback_of(seen: Seen) -> Tuple[Any, ...]:
    """What `Raised` keeps of the traceback above an exception: from its frames on."""
    chained, seen.chained = seen.chained, False
    if not seen.frames:
        return seen.frames, seen.own, "", "", chained
    place = bool(seen.thread), seen.lines - seen.begun, seen.named, seen.top > seen.begun > 0
    return (seen.frames, seen.own, "", seen.code, chained, *place)


_NAMED = re.compile(r"(?i)(?<!local[ _])\brank[ _:=#]{0,2}(\d{1,5})\b")


def _named_above(seen: Seen) -> Optional[int]:
    """The rank that the line before this one names, if that line says that something failed."""
    if seen.process[0] and seen.lines - seen.process[0] <= 1:
        return seen.process[1]
    above = seen.stated[-1] if seen.stated and seen.stated[-1].number == seen.lines - 1 else None
    named = _NAMED.search(above.raised.line.text) if above is not None else None
    return int(named.group(1)) if named is not None else None


def note_cut(seen: Seen, named: bool, line: Line, order: int, steps: int) -> None:
    """Notes how far a traceback came. IPython's heading names the exception, which says more than any frame."""
    if named:
        seen.cut = (True, line._replace(text=line.text.split()[0]), order, steps, seen.lines)
    elif seen.traceback == OPEN and seen.cut is not None and seen.cut[0] and seen.lines > seen.headed:
        seen.cut = (*seen.cut[:4], seen.lines)
    else:
        seen.cut = (False, line, order, steps, seen.lines)


def is_warning_class(text: str) -> bool:
    """Whether a line that begins with the name of an exception names a warning."""
    return text.partition(":")[0].endswith("Warning")


def goes_on_from(seen: Seen) -> Optional[bool]:
    """If this line still belongs to the message of an exception: whether that one ended a traceback; else None."""
    if seen.announced is None or seen.lines - seen.announced[0] > ANNOUNCED_WITHIN:
        return None
    return seen.announced[1]


def explain(seen: Seen, text: str) -> Optional[bool]:
    """The same for a line that is not in a traceback. The first one is kept with the exception."""
    raised = goes_on_from(seen)
    if raised and seen.raised and not seen.raised[-1].context:
        seen.raised[-1] = seen.raised[-1]._replace(context=text)
    elif raised is False and seen.quoted and not seen.quoted[-1].raised.context:
        told = seen.quoted[-1].raised._replace(context=text)
        seen.quoted = [*seen.quoted[:-1], seen.quoted[-1]._replace(raised=told)]
    return raised


def keep_statement(seen: Seen, line: Line, order: int, steps: int, sure: bool) -> None:
    """Keeps the first and the last lines outside of tracebacks that say in words that something failed."""
    if seen.traceback == CLOSED and seen.ignored == NOT_IGNORED:
        one = Quoted(seen.lines, sure, Raised("", line, order, None, False, (), steps))
        seen.stated = [*seen.stated[:STATED_FIRST], *seen.stated[STATED_FIRST:][-STATED_LAST:], one]


IN_USER_CODE = ": in user code:"
"""The message of an exception of Keras, below which it prints the exception itself."""


def tells_of_user_code(seen: Seen, kind: "str | None", text: str) -> bool:
    """Whether this is the exception itself, which Keras prints below such a message and its frames, indented. Then it
    is kept in its place."""
    if not seen.raised or seen.raised[-1].line.text != f"{kind}{IN_USER_CODE}":
        return False
    seen.raised[-1] = seen.raised[-1]._replace(line=seen.raised[-1].line._replace(text=text))
    seen.traceback = CLOSED
    return True


def opens(heading: str) -> bool:
    """Whether the lines of a traceback follow."""
    return heading != CHAINED


def in_traceback(seen: Seen, named: bool) -> bool:
    """Whether a line that may be a traceback's last is one; `named`: it is an exception by its class's name."""
    if seen.traceback == HEADLESS:
        return named and seen.ignored == NOT_IGNORED and seen.lines - seen.headed <= FOLLOWS_WITHIN
    return seen.traceback == OPEN
