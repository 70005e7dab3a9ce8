"""Where a run's files lie on a node, and the only ways in which they are written and read.

Nothing here judges what stands in a file. Every reader takes its file for hostile: the training script
may write into the run directory, so links and FIFOs are refused and half-written lines are waited for.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import threading
from typing import Any, Dict, List, Optional, Tuple

from allranks.words import BadInput, Event, Problem, event_from_json

MARKER = ".allranks-run"
"""A file in every run directory that holds its run id: `clean` removes nothing that lacks it."""

LINE_BYTES = 1 << 20
"""A longer line is no event: it is skipped, since a reader that waits for its end would wait for ever."""

READ_BYTES = 4 << 20
"""The most that one `read_events` takes in, so that a large backlog does not stop the supervisor's loop."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_FILE_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


def home() -> str:
    """`$ALLRANKS_HOME`, by default `~/.allranks`; absolute."""
    return os.path.abspath(os.environ.get("ALLRANKS_HOME") or os.path.expanduser("~/.allranks"))


def checked_name(name: str, what: str) -> str:
    """`name` where it may be one part of a path; raises `BadInput` otherwise."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise BadInput(
        Problem(
            saw=f"{name!r} is no name of a {what}.",
            why="it becomes a part of a path on every node.",
            do="1 to 128 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash.",
        )
    )


class NodeDirectory:
    """`nodes/<name>/` of a run directory: what this node's supervisor and ranks write."""

    def __init__(self, root: str, name: str):
        self.name = checked_name(name, "node")
        self.root = os.path.join(root, "nodes", self.name)
        self.job = os.path.join(self.root, "job.json")
        self.supervisor = os.path.join(self.root, "supervisor.json")
        self.journal = os.path.join(self.root, "journal.jsonl")
        self.processes = os.path.join(self.root, "processes.jsonl")
        self.logs = os.path.join(self.root, "logs")
        self.torchrun_log = os.path.join(self.logs, "torchrun.log")
        self.supervisor_log = os.path.join(self.logs, "supervisor.log")
        self.ranks = os.path.join(self.root, "ranks")
        self.stacks = os.path.join(self.root, "stacks")
        self.stacks_request = os.path.join(self.stacks, "request")
        self.work = os.path.join(self.root, "work")

    def rank_log(self, rank: int) -> str:
        return os.path.join(self.logs, f"rank-{rank}.log")

    def rank_events(self, rank: int) -> str:
        return os.path.join(self.ranks, f"rank-{rank}.jsonl")

    def rank_stacks(self, rank: int) -> str:
        return os.path.join(self.stacks, f"rank-{rank}.txt")

    def file(self, name: str) -> str:
        """A file of the job's `files`; refused where the name is one that the supervisor itself writes."""
        path = os.path.join(self.root, checked_name(name, "file"))
        own = (self.job, self.supervisor, self.journal, self.processes)
        if path in own or path in (self.logs, self.ranks, self.stacks, self.work):
            raise BadInput(Problem(saw=f"the job's file {name!r} is named like one of the run directory."))
        return path

    def create(self) -> None:
        for path in (self.root, self.logs, self.ranks, self.stacks, self.work):
            _make_private(path)


class KeeperDirectory:
    """`keeper/` of a run directory; it exists on the head node only."""

    def __init__(self, root: str):
        self.root = os.path.join(root, "keeper")
        self.identity = os.path.join(self.root, "keeper.json")
        self.journal = os.path.join(self.root, "journal.jsonl")
        self.state = os.path.join(self.root, "state.json")
        self.stop = os.path.join(self.root, "stop.json")
        self.report = os.path.join(self.root, "report.html")

    def create(self) -> None:
        _make_private(self.root)


class RunDirectory:
    """`<home>/runs/<run id>/`. Making one of these creates nothing; `create` does.

    Raises `BadInput` where `run_id` may not be part of a path.
    """

    def __init__(self, run_id: str, home_path: Optional[str] = None):
        self.run_id = checked_name(run_id, "run")
        self.home = os.path.abspath(home_path) if home_path else home()
        self.root = os.path.join(self.home, "runs", self.run_id)
        self.run = os.path.join(self.root, "run.json")
        self.plan = os.path.join(self.root, "plan.json")
        self.marker = os.path.join(self.root, MARKER)
        self.keeper = KeeperDirectory(self.root)

    def node(self, name: str) -> NodeDirectory:
        return NodeDirectory(self.root, name)

    def nodes(self) -> List[str]:
        """The names of the nodes that have a folder here, sorted; empty where there is none."""
        try:
            names = os.listdir(os.path.join(self.root, "nodes"))
        except OSError:
            return []
        return sorted(name for name in names if _NAME.fullmatch(name))

    def create(self, node: Optional[str] = None, keeper: bool = False) -> None:
        """Makes the run's folders (mode 0700) and its marker; what is there already is left as it is.

        Raises OSError, also where the run directory is a link or belongs to another user.
        """
        for path in (self.home, os.path.join(self.home, "runs"), self.root, os.path.join(self.root, "nodes")):
            _make_private(path)
        there = os.lstat(self.root)
        if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "is a link, or belongs to another user", self.root)
        self._mark()
        if node is not None:
            self.node(node).create()
        if keeper:
            self.keeper.create()

    def is_marked(self) -> bool:
        return read_text(self.marker, 256).strip() == self.run_id

    def _mark(self) -> None:
        try:
            descriptor = os.open(self.marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o600)
        except FileExistsError:
            return
        try:
            os.write(descriptor, (self.run_id + "\n").encode())
        finally:
            os.close(descriptor)


def _make_private(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass


# ---- whole files ----


def write_text(path: str, text: str) -> None:
    """Replaces the file at once: a reader sees the old text or the new one, never a part. Mode 0600.

    Raises OSError (a full disk among others) and then leaves the old file and no rest behind.
    """
    draft = os.path.join(
        os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.{threading.get_ident()}.draft"
    )
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FILE_FLAGS, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


def write_json(path: str, value: Any) -> None:
    """`write_text` of `value` as JSON."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def read_bytes(path: str, most_bytes: int = 64 << 20, offset: int = 0) -> bytes:
    """At most `most_bytes` of a regular file; a negative `offset` counts from its end.

    Empty where there is no file that may be read.
    """
    try:
        descriptor = open_regular(path)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset if offset >= 0 else max(0, os.fstat(descriptor).st_size + offset))
        return file.read(most_bytes)


def size_of(path: str) -> int:
    """The bytes in a file; 0 where there is none."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0


def read_text(path: str, most_bytes: int = 64 << 20) -> str:
    return read_bytes(path, most_bytes).decode("utf-8", "replace")


def read_json(path: str) -> Any:
    """The JSON value in `path`; None where the file is missing, unreadable or no JSON."""
    try:
        return json.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def read_object(path: str) -> Dict[str, Any]:
    """`read_json` where an object is expected: empty where there is none."""
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def open_regular(path: str, directory: Optional[int] = None) -> int:
    """A descriptor for reading; OSError where the last part is a link, a FIFO or anything but a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FILE_FLAGS, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is no regular file", path)


# ---- append-only JSON lines ----


class Lines:
    """Appends JSON lines to one file, of which this object is the only writer. Never raises OSError.

    Each line is one write(2). After a failed one (a full disk) `dropped` counts what was lost, and the
    next line that fits is preceded by one that says so.
    """

    def __init__(self, path: str):
        self.path = path
        self.dropped = 0
        self.error = ""
        self._descriptor: Optional[int] = None
        self._torn = False

    def append(self, value: Dict[str, Any]) -> bool:
        """False where the line could not be stored whole."""
        lines = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        if self.dropped:
            lines = json.dumps(self._note(), separators=(",", ":")).encode() + b"\n" + lines
        try:
            self._write(lines)
        except OSError as error:
            self.dropped += 1
            self.error = f"{error.strerror} (errno {error.errno})"
            return False
        self.dropped = 0
        return True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _note(self) -> Dict[str, Any]:
        return {"dropped": self.dropped, "why": self.error}

    def _write(self, lines: bytes) -> None:
        if self._descriptor is None:
            self._open()
        assert self._descriptor is not None
        written = os.write(self._descriptor, b"\n" + lines if self._torn else lines)
        # A line cut by a full disk is ended by the next write, so that it spoils no line but itself.
        if written < len(lines) + self._torn:
            self._torn = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        self._torn = False

    def _open(self) -> None:
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _FILE_FLAGS, 0o600)
        size = os.fstat(self._descriptor).st_size
        # An earlier writer may have been killed in the middle of a line.
        self._torn = size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"


class Journal(Lines):
    """Appends events. What was dropped stands in it as an event of kind `dropped`."""

    def __init__(self, path: str, node: Optional[str] = None):
        super().__init__(path)
        self.node = node

    def append(self, value: "Event | Dict[str, Any]") -> bool:
        event = value.as_json() if isinstance(value, Event) else value
        self._at = float(event.get("at") or 0.0)
        return super().append(event)

    def _note(self) -> Dict[str, Any]:
        data = {"events": self.dropped, "why": self.error}
        return Event(self._at, "dropped", self.node, None, data).as_json()


class Tail:
    """Reads what was appended to a file since the last `read`; a line without its end waits for it.

    `offset` is the byte after the last whole line read, `garbage` counts lines that were no JSON object.
    """

    def __init__(self, path: str, offset: int = 0):
        self.path, self.offset, self.garbage = path, offset, 0

    def read(self) -> List[Dict[str, Any]]:
        values = []
        for line in self._lines():
            try:
                value = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                values.append(value)
            elif line.strip():
                self.garbage += 1
        return values

    def _lines(self) -> List[bytes]:
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return []
        try:
            if os.fstat(descriptor).st_size < self.offset:
                self.offset = 0  # the file was made anew
            block = os.pread(descriptor, READ_BYTES, self.offset)
        except OSError:
            return []
        finally:
            os.close(descriptor)
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LINE_BYTES:
            self.offset += len(block)
            self.garbage += 1
            return []
        self.offset += end
        return block[:end].split(b"\n")[:-1]


def read_events(path: str, offset: int = 0) -> Tuple[List[Event], int]:
    """The whole events that stand in `path` from byte `offset` on, and the offset to go on from.

    Garbage is skipped; to know how much there was, keep a `Tail`. At most `READ_BYTES` at once: a caller
    that wants the file's end calls until the offset stays.
    """
    tail = Tail(path, offset)
    return events_of(tail), tail.offset


def events_of(tail: Tail) -> List[Event]:
    """What `tail` reads now, as events; an object that is none counts as garbage."""
    events = []
    for value in tail.read():
        try:
            event = event_from_json(value)
        except (ValueError, OverflowError):
            event = None
        if event is not None and math.isfinite(event.at):
            events.append(event)
        else:
            tail.garbage += 1
    return events
