"""Looking at runs, live or long ended: what every `ps`, `watch`, `logs` and `report` is made of.

It reads files of the run directory and asks /proc whether a recorded process lives. It changes nothing
and needs no live process. Text that may contain a secret that the supervisor has not masked yet is masked here.
"""

from __future__ import annotations

import codecs
import fnmatch
import itertools
import math
import os
import stat
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from allranks.core import BadInput, Diagnosis, Problem, Where
from allranks.core.causes import NODE_FAILURE, SUPERVISOR_LOST
from allranks.core.run_states import FINAL
from allranks.node import processes
from allranks.node.journal_growth import why_unwritten
from allranks.node.paths import RunDirectory, home, open_regular, read_object
from allranks.node.redaction import Redactor
from allranks.node.secret_store import SecretStore

CHUNK_BYTES = 1 << 20
FILES = 10_000
DEEPEST = 32
TURN_SECONDS = 0.2
JOURNAL = "keeper/journal.jsonl"


# ---- the state of runs ----


def status(run_id: str) -> Dict[str, Any]:
    """The keeper's state of one run, with who lives: `keeper_alive`, and `supervisors` by node.

    The state is `lost` if the keeper has ended, as seen from here, and never wrote a last state. It is None, with
    `why` and `silent_seconds`, if the keeper cannot be seen from here and has written nothing for long. `alive` is
    None if that cannot be decided from here. Raises BadInput if there is no such run.
    """
    return _status(_existing(run_id))


def runs() -> List[Dict[str, Any]]:
    """`status` of every run in the home folder, newest first."""
    try:
        names = os.listdir(os.path.join(home(), "runs"))
    except OSError:
        return []
    found = []
    for name in names:
        try:
            found.append(status(name))
        except BadInput:
            continue  # not a run, but another folder
    return sorted(found, key=lambda entry: -entry["started_at"])


def _existing(run_id: str) -> RunDirectory:
    directory = RunDirectory(run_id)
    if not os.path.isdir(directory.root):
        raise BadInput(Problem(saw=f"there is no run {run_id} here.", do="allranks ps lists the runs"))
    return directory


def _status(directory: RunDirectory) -> Dict[str, Any]:
    state = read_object(directory.keeper.state)
    keeper = read_object(directory.keeper.identity)
    if not isinstance(keeper.get("process", {}), dict):
        keeper = {}
    keeper_alive = processes.lives(keeper.get("process") or keeper)
    records = {node.name: read_object(node.supervisor) for node in directory.node_directories()}
    supervisors = {
        name: {"alive": processes.lives(record), "pid": record.get("pid")} for name, record in records.items()
    }
    entry = {
        "name": None,
        "state": None,
        "step": None,
        "nodes": list(supervisors),
        "adapter": None,
        "findings": [],
    }
    entry.update({key: value for key, value in state.items() if _fits(key, value)})
    entry.update(
        id=directory.run_id, directory=directory.root, supervisors=supervisors, keeper_alive=keeper_alive
    )
    if entry["state"] not in FINAL and keeper_alive is False:
        unwritten = why_unwritten(directory)
        why = "its keeper is gone and wrote no last state" + (f": {unwritten}" if unwritten else "")
        gone = _keeper_gone(directory, keeper.get("process") or keeper, why)
        told = None if entry.get("of_earlier") else entry.get("diagnosis")
        entry.update(state="lost", why=why, diagnosis=told or gone)
    elif entry["state"] not in FINAL and keeper_alive is None:
        entry.update(_silence(directory, keeper))
    elif entry["state"] not in FINAL:
        unwritten = why_unwritten(directory)
        entry.update({"unwritten": unwritten, "why": f"{unwritten}: this may be old"} if unwritten else {})
    if not isinstance(entry.get("started_at"), (int, float)):
        entry["started_at"] = modified_at(directory.root)
    return entry


_NUMBERS = ("started_at", "ended_at", "step", "total_steps")
_TYPES = {"name": str, "state": str, "why": str, "nodes": list, "findings": list, "diagnosis": dict}


def _fits(key: str, value: Any) -> bool:
    """Whether a value of state.json is what everybody takes it for: one damaged file must not hide all other runs."""
    if value is None:
        return key not in ("nodes", "findings")
    if key in _NUMBERS:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, _TYPES.get(key, object))


def _keeper_gone(directory: RunDirectory, keeper: Mapping[str, Any], why: str) -> Dict[str, Any]:
    """Why a run is lost, as a `Diagnosis`: the keeper lives in the head's supervisor, and dies with it."""
    node, pid = keeper.get("node"), keeper.get("pid")
    seen_from_here = processes.can_be_seen(keeper)
    restarted = seen_from_here and keeper.get("boot_id") != processes.boot_id()
    seen = f"the keeper, pid {pid} on {node}: {why}"
    if restarted:
        seen += "; the machine has been restarted since"
    return Diagnosis(
        cause=NODE_FAILURE if restarted else SUPERVISOR_LOST,
        confidence="certain" if seen_from_here else "likely",
        where=Where(node=None if node is None else str(node)),
        first_seen=modified_at(directory.keeper.journal) or None,
        evidence=(seen,),
        why="the run's keeper is a part of the head's supervisor. Without it the other nodes stop their own ranks"
        " when their lease ends: any later messages of these nodes and of torchrun are consequences.",
        fix=f"on {node}: dmesg -T | grep -i -e oom -e killed; then allranks clean {directory.run_id} and start"
        " again from its last checkpoint.",
    ).as_json()


SILENT_SECONDS = 180.0
"""A living keeper writes its journal at least every few seconds, since each supervisor sends samples."""


def _silence(directory: RunDirectory, keeper: Dict[str, Any]) -> Dict[str, Any]:
    """For a keeper that cannot be seen: reports that it no longer writes, which a full disk explains as well as its
    death."""
    written = modified_at(directory.keeper.journal) if keeper.get("process", keeper).get("pid") else 0.0
    silent = time.time() - written
    if not written or silent <= SILENT_SECONDS:
        return {}
    why = f"its keeper, which cannot be seen from here, has written nothing for {silent:.0f} s"
    return {"state": None, "why": why, "silent_seconds": round(silent, 1)}


def modified_at(path: str) -> float:
    """Seconds since the epoch; 0 if it is not there any longer."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


# ---- files ----


class Chunk(NamedTuple):
    """`text` begins at byte `offset` of `path`; the next one begins at `next_offset`. `first_line` and `last_line` are
    the bytes after its first and its last line break (without one: `offset` and `next_offset`). They cannot be counted
    in `text`, in which a character may stand for bytes that are not UTF-8."""

    path: str
    offset: int
    next_offset: int
    size_bytes: int
    text: str
    first_line: int
    last_line: int


class Reader:
    """Reads files of one run directory. Secrets are masked with as many `*`, so that offsets stay true."""

    def __init__(self, directory: RunDirectory):
        self.directory = directory
        self.redactor = Redactor()
        self._values: Tuple[str, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        """Reads the secrets' values again: a supervisor may have started since."""
        found = [SecretStore(self.directory, name).values().values() for name in self.directory.nodes()]
        values = tuple(sorted({value for more in found for value in more}))
        if values != self._values:
            self._values, self.redactor = values, Redactor(values)

    def chunk(self, path: str, offset: int, most_bytes: int, ended: bool = True) -> Chunk:
        """At most `most_bytes` from `offset`; a negative `offset` counts from the end.

        Unless the writer has `ended`, bytes that may be the first half of a character or of a secret are left for the
        next chunk. Raises OSError if there is no such file or a link is on the way.
        """
        descriptor = self._open(path)
        try:
            size = os.fstat(descriptor).st_size
            start = min(size, offset if offset >= 0 else max(0, size + offset))
            most_bytes = max(0, min(most_bytes, CHUNK_BYTES))
            block = self._masked(descriptor, start, most_bytes, ended)
        finally:
            os.close(descriptor)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        whole = ended and start + len(block) >= size
        text = decoder.decode(block, whole)
        consumed = len(block) - (0 if whole else len(decoder.getstate()[0]))
        first = start + (block.find(b"\n", 0, consumed) + 1)
        last = start + (block.rfind(b"\n", 0, consumed) + 1 or consumed)
        return Chunk(path, start, start + consumed, size, text, first, last)

    def _masked(self, descriptor: int, start: int, most_bytes: int, ended: bool) -> bytes:
        """The bytes from `start`. They are masked together with the bytes before and behind them."""
        overlap = self.redactor.overlap
        before = min(start, overlap)
        wanted = before + most_bytes
        block = os.pread(descriptor, wanted + overlap, start - before)
        masked = self.redactor.mask(block)[before:wanted]
        if ended or len(block) >= wanted + overlap:
            return masked
        held = self.redactor.unfinished(block) - max(0, len(block) - wanted)
        return masked[: len(masked) - held] if held > 0 else masked

    def _open(self, path: str) -> int:
        """Opens a file below the run directory, one folder after the other, following no link."""
        parts = path.split("/")
        if not all(parts) or any(part in (".", "..") for part in parts) or "\0" in path:
            raise BadInput(Problem(saw=f"{path!r} is not a path below the run directory."))
        folder = os.open(self.directory.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                below = os.open(
                    part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
                )
                os.close(folder)
                folder = below
            return open_regular(parts[-1], folder)
        finally:
            os.close(folder)


def chunk(run_id: str, path: str, offset: int = 0, max_bytes: int = CHUNK_BYTES) -> Dict[str, Any]:
    """One piece of a file: `{path, offset, next_offset, size_bytes, text}`. Raises BadInput and OSError."""
    directory = _existing(run_id)
    return Reader(directory).chunk(path, offset, max_bytes, has_ended(directory))._asdict()


def listing(run_id: str) -> Dict[str, Any]:
    """`files`: `{path, size_bytes, modified_at}` of every file, sorted; `truncated` beyond 10,000."""
    found = list(itertools.islice(_files(_existing(run_id).root), FILES + 1))
    entries = [
        {"path": path, "size_bytes": there.st_size, "modified_at": there.st_mtime}
        for path, there in sorted(found[:FILES], key=lambda one: one[0])
    ]
    return {"files": entries, "truncated": len(found) > FILES}


def _files(root: str, below: str = "", depth: int = DEEPEST) -> Iterator[Tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(os.path.join(root, below)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        try:
            there = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(there.st_mode):
            yield from _files(root, path, depth - 1) if depth else ()
        elif stat.S_ISREG(there.st_mode):
            yield path, there


# ---- following ----


def has_ended(directory: RunDirectory) -> bool:
    """Whether nothing will be written any longer, as far as can be told: no keeper and no supervisor lives on this
    machine, and one that cannot be seen has written nothing for long."""
    if not os.path.isdir(directory.root):
        return True  # removed while we looked
    state = _status(directory)
    alive = [entry["alive"] for entry in state["supervisors"].values()]
    if any(alive):
        return False
    if state["state"] in FINAL or "silent_seconds" in state:
        return True
    # No keeper here: another node's directory, which ends with its own supervisor.
    return state["state"] is None and bool(alive) and not any(value is None for value in alive)


def follow(
    run_id: str,
    patterns: Iterable[str],
    offsets: Optional[Mapping[str, int]] = None,
    gone: Callable[[], bool] = lambda: False,
) -> Iterator[Dict[str, Any]]:
    """`{path, offset, text}` for all that is in, and comes into, the files that match, until the end.

    A pattern is a path below the run directory, or a glob. `offsets` says from which byte a path is wanted;
    one not named there is wanted whole. It ends when the run has ended and all is sent, or at `gone()`. A piece
    without text and with `unwritten` says why the keeper's files cannot grow any longer, each time that this changes.
    """
    directory = _existing(run_id)
    wanted = list(patterns)
    records: List[Dict[str, Any]] = []
    known: Dict[str, int] = dict(offsets or {})
    reader, unwritten = Reader(directory), ""
    while not gone():
        before, unwritten = unwritten, why_unwritten(directory)
        if unwritten and unwritten != before and JOURNAL in wanted:
            yield {"path": JOURNAL, "offset": 0, "text": "", "unwritten": unwritten}
        # This is asked before the files are read, so that lines from before the end are still sent.
        # A run whose folder somebody removes goes on without it, as long as its supervisor or keeper lives.
        records = records or _processes(directory)
        is_there = os.path.isdir(directory.root)
        ended = has_ended(directory) if is_there else not any(map(processes.lives, records))
        reader.refresh()
        told = False
        for path in _matching(directory.root, wanted):
            for piece in _new(reader, path, known, ended):
                told = True
                yield piece
        if ended:
            return
        if not told:
            time.sleep(TURN_SECONDS)


def _processes(directory: RunDirectory) -> List[Dict[str, Any]]:
    """The records of the supervisors and the keeper that were started here."""
    keeper = read_object(directory.keeper.identity)
    inside = keeper.get("process")
    records = [inside if isinstance(inside, dict) else keeper]
    records += [read_object(node.supervisor) for node in directory.node_directories()]
    return [record for record in records if record]


def _matching(root: str, patterns: List[str]) -> List[str]:
    globs = [pattern for pattern in patterns if any(sign in pattern for sign in "*?[")]
    found = [pattern for pattern in patterns if pattern not in globs]
    for path, _ in _files(root) if globs else ():
        if path not in found and any(fnmatch.fnmatchcase(path, glob) for glob in globs):
            found.append(path)
    return found


def _new(reader: Reader, path: str, known: Dict[str, int], ended: bool) -> Iterator[Dict[str, Any]]:
    while True:
        try:
            piece = reader.chunk(path, known.get(path, 0), CHUNK_BYTES, ended)
        except OSError:
            return  # not there yet
        known[path] = piece.next_offset
        if not piece.text:
            return
        yield {"path": piece.path, "offset": piece.offset, "text": piece.text}
