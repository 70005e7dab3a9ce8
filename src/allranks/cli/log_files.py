"""Opens log files in all forms that users have: in folders, compressed, rotated, in UTF-16, from a pipe. Files that
are not read are reported."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from allranks.cli.packed_logs import BROKEN, DAMAGED, PEEK, UNREAD, unpacked
from allranks.core import Problem
from allranks.core.file_kinds import is_file, mode_of

SUFFIXES = (".log", ".txt", ".out", ".err", ".json", ".jsonl", ".stdout", ".stderr")
NAMES = ("stdout", "stderr", "messages", "syslog", "dmesg")
_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_LOG = re.compile(
    rf"(?:.*(?:{'|'.join(map(re.escape, SUFFIXES))})|(?:.*[/._-])?(?:{'|'.join(NAMES)}))(?:[.-]\d{{1,10}})?{_PACKED}$"
    rf"|.*\.[oe]\d{{2,12}}(?:[.-]\d{{1,6}})?{_PACKED}$",
    re.IGNORECASE,
)
"""`x.log`, `x.log.1`, `x.log-20260105.gz`, `stdout`, and SLURM's and PBS' `job.o4242`."""

_OF_RANK = re.compile(
    rf"(?:.*[._-])?(?:rank|node|worker|trainer|task|proc|process|host|gpu)[._-]?\d{{1,5}}{_PACKED}$",
    re.IGNORECASE,
)
"""`rank.3`, `worker-0.gz`: its number is not that of a rotation."""

_NOT_LOGS = re.compile(
    r"(?:^|[._-])(?:config|tokenizer|vocab|merges|special_tokens_map|generation_config|trainer_state|all_results"
    r"|train_results|eval_results|dataset_info|index|requirements|license|readme)[\w.]{0,120}\.(?:json|jsonl|txt)$",
    re.IGNORECASE,
)
"""Files beside logs that have the ending of a log but are not logs."""

_ROTATED = re.compile(rf"^(?P<name>.+?)[.-](?P<turn>\d{{1,10}})(?P<packed>{_PACKED})$")
ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".zip")
READABLE = "run this as a user who may read it: a rank whose log is missing may be the one"
CONTROL = bytes(b for b in range(32) if b < 8 or 13 < b < 27 or b > 27)
BINARY_SHARE = 0.09
"""The share of control characters, which no text has, in the first bytes of a binary file. A log may contain a few, and
many backspaces, which do not count: Keras draws its bars with them. Of bytes that are all equally frequent these are
25 of 256."""

HOLE = bytes(4)
"""UTF-16 begins with one zero at most."""

NAMED_AT_MOST = 6


def is_gap(note: str) -> bool:
    """Whether a note says that a log was not read, or only a part of it. The missing part may hold the cause."""
    return note.startswith(UNREAD) or DAMAGED in note


class Log(NamedTuple):
    """One log: its name, and its files in the order in which they were written (rotated ones first)."""

    name: str
    files: tuple[str, ...]


def logs_below(folder: str, problems: list[Problem], notes: list[str]) -> tuple[list[Log], list[str]]:
    """The logs in a folder and below it, and the flight recorders' dumps. A folder that cannot be read is a problem,
    not an empty folder."""
    shut: list[OSError] = []
    found: list[str] = []
    dumps: list[str] = []
    other: list[str] = []
    linked: list[str] = []
    for place, folders, names in os.walk(folder, onerror=shut.append):
        if _holds_patterns(place):
            folders.clear()
            continue
        linked += [str(Path(place, name)) for name in folders if Path(place, name).is_symlink()]
        for file in (str(Path(place, name)) for name in sorted(names)):
            if not is_file(file) and _is_named_as_log(file):
                notes.append(f"{UNREAD}{file}: {_what_it_is(file)}")
                continue
            kind = dumps if is_dump_file(file) else found if _is_log(file) else other
            kind.append(file)
    linked = [path for path in linked if not Path(path).resolve().is_relative_to(Path(folder).resolve())]
    if linked:
        notes.append(f"not followed, because they are links to other folders: {some(linked)}")
    problems += [Problem(f"{error.filename}: {error.strerror}", do=READABLE) for error in shut]
    if not found and not dumps and not shut:
        do = "in folders, files named *" + ", *".join(SUFFIXES[:4]) + " are read"
        do += f"; give any other log itself: {some(other)}" if other else ""
        problems.append(Problem(f"{folder}: no file in this folder is named as a log", do=do))
    if other and (found or dumps):
        notes.append(f"not read, because their names are not those of logs: {some(other)}")
    return joined(found), dumps


def is_empty(file: str) -> bool:
    """Whether it is a file without any content. It may have vanished since it was found."""
    try:
        return is_file(file) and Path(file).stat().st_size == 0
    except OSError:
        return False


def _what_it_is(file: str) -> str:
    """The kind of a directory's entry that is not a file, or why it cannot be seen."""
    try:
        mode = os.lstat(file).st_mode
    except OSError as error:  # its folder may be listed but not entered
        return str(error.strerror)
    return f"it is a {'link to nothing' if stat.S_ISLNK(mode) else 'pipe or a device'}"


def _holds_patterns(place: str) -> bool:
    """Whether a folder holds the lines that allranks knows failures by: an installed one, or a node's copy of it."""
    return Path(place).parts[-2:] == ("allranks", "diagnose") and Path(place, "symptoms").is_dir()


def is_dump_file(file: str) -> bool:
    """Whether it is a dump of torch's flight recorder, by its first bytes."""
    if not is_file(file):
        return False  # reading a pipe would consume its content
    try:
        with open(file, "rb") as raw:
            return is_dump(raw.read(PEEK))
    except OSError:
        return False


def is_dump(head: bytes) -> bool:
    """Whether a file is a dump of torch's flight recorder, by its first 4 KB: a pickle or JSON with the recorder's
    field names. `monitor.flight_dumps` reads them: to load it for every log that begins like JSON takes longer than to
    read a small one."""
    if head[:1] == b"\x80":
        return b"record_id" in head or b"entries" in head or b"pg_config" in head
    return head.lstrip()[:1] in (b"{", b"[") and any(
        word in head for word in (b'"collective_seq_id"', b'"pg_config"', b'"record_id"')
    )


def _is_log(file: str) -> bool:
    return _is_named_as_log(file) and is_file(file)


def _is_named_as_log(file: str) -> bool:
    name = Path(file).name
    known = (_LOG.match(name) or _OF_RANK.match(name)) is not None and _NOT_LOGS.search(name) is None
    return known and not name.lower().endswith(ARCHIVES)


def some(names: list[str]) -> str:
    shown = ", ".join(names[:NAMED_AT_MOST])
    return shown if len(names) <= NAMED_AT_MOST else f"{shown} and {len(names) - NAMED_AT_MOST} more"


def joined(files: list[str]) -> list[Log]:
    """Joins rotated files (`x.log.2.gz`, `x.log.1`, `x.log`) into one log, the oldest first. Numbers that are dates
    or jobs grow with time; numbers of a rotation grow with age."""
    turns: dict[str, list[tuple[int, str]]] = {}
    for file in files:
        found = _ROTATED.match(file)
        base = found.group("name") if found is not None else ""
        if found is not None and _LOG.match(Path(base).name) and not re.search(r"\.[oe]\d+$", file):
            turn = int(found.group("turn"))
            turns.setdefault(base, []).append((-turn if turn < 10_000 else turn - 10**10, file))
        else:
            turns.setdefault(file, []).append((1, file))
    return [Log(base, tuple(file for _, file in sorted(parts))) for base, parts in sorted(turns.items())]


# ---- one file ----


@contextmanager
def opened(file: str, notes: list[str]) -> Iterator[Callable[[int], bytes] | None]:
    """Yields a function that reads a log's text, unpacked and converted to UTF-8; or None, with a note, if it is not
    text."""
    try:
        raw = sys.stdin.buffer if file == "-" else open(file, "rb", buffering=0)  # noqa: SIM115  # closed below
    except OSError as error:  # removed or rotated since it was found
        notes.append(f"{UNREAD}{file}: {error.strerror}")
        yield None
        return
    try:
        stream = cast("IO[bytes]", raw if file == "-" else io.BufferedReader(raw, 1 << 16))  # type: ignore[arg-type]
        name = "standard input" if file == "-" else file
        with unpacked(stream, name, notes) as plain:
            yield None if plain is None else _text(plain, name, notes)
    finally:
        if file != "-":
            raw.close()


class _Joined(io.RawIOBase):
    """The bytes that were already read, then the rest of a stream. If the end is damaged, it adds a note and stops
    there."""

    def __init__(self, rest: IO[bytes], name: str, notes: list[str]) -> None:
        self.head, self.rest, self.name, self.notes = b"", rest, name, notes
        self.is_broken = False
        # `read` of an archive drops what it has unpacked in the same call when it meets the damage.
        self.read1 = cast("io.BufferedReader", rest).read1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # any writable buffer
        part = self.some(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def some(self, size: int) -> bytes:
        """At most so many bytes; empty at the end."""
        part, self.head = self.head[:size], self.head[size:]
        try:
            while len(part) < size and not self.is_broken:
                more = self.read1(size - len(part))
                if not more:
                    break
                part += more
        except BROKEN as error:
            self.is_broken = True
            self.notes.append(f"{self.name}: {DAMAGED} ({error})")
        return part


def _text(stream: IO[bytes], name: str, notes: list[str]) -> Callable[[int], bytes] | None:
    joined = _Joined(stream, name, notes)
    head = joined.some(PEEK)
    while head and not head.strip(b"\0"):  # a hole: the file was emptied while its writer had it open
        head = joined.some(PEEK)
    if head.startswith(HOLE):
        head = head.lstrip(b"\0")
    if not head and joined.is_broken:
        notes[-1] = f"{UNREAD}{name}: it is damaged"
        return None
    encoding = encoding_of(head)
    if encoding is None:
        notes.append(f"{UNREAD}{name}: it is not text")
        return None
    joined.head = head.removeprefix(codecs.BOM_UTF8)
    if encoding == "utf-8":
        return joined.some
    text = io.TextIOWrapper(io.BufferedReader(joined, 1 << 16), encoding, errors="replace", newline="")
    return lambda size: text.read(size).encode("utf-8", "replace")


def encoding_of(head: bytes) -> str | None:
    """UTF-16 if there is a byte order mark, or zeros between the letters; else UTF-8. None if it is not text."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(head) >= 4 and head.count(0) > len(head) // 4:
        zeros = head[1::2].count(0), head[0::2].count(0)
        if max(zeros) > 0.8 * (len(head) // 2) and min(zeros) < 0.1 * len(head):
            return "utf-16-le" if zeros[0] > zeros[1] else "utf-16-be"
    odd = len(head) - len(head.translate(None, CONTROL))
    return None if odd > BINARY_SHARE * len(head) else "utf-8"


def unreadable(file: str) -> Problem | None:
    if is_pipe(file):
        return None  # opening it twice would lose its content
    try:
        with open(file, "rb"):
            return None
    except OSError as error:
        return Problem(f"{file}: {error.strerror}", do=READABLE)


def is_pipe(file: str) -> bool:
    """Whether the file is a pipe. A process substitution, `<(kubectl logs …)`, is a pipe under /dev/fd."""
    mode = mode_of(file)
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


# ---- machines' names in paths ----

_HOSTLIKE = re.compile(r"^(?=.*[A-Za-z])[A-Za-z\d][\w.-]{0,80}$")
_NO_HOST = re.compile(
    r"(?i)^(?:attempt|rank|step|epoch|std(?:out|err)|logs?|run|job|local|global|gpu|checkpoint)[_.-]?\d*$"
)


def machines(names: list[str]) -> dict[str, str]:
    """The machine of each log, if one folder level of the paths contains the machines' names. Only that level has
    several names, and below each of them are logs with the same names, as in `h1/rank-0.log`, `h2/rank-4.log`,
    `h1/train.log`, `h2/train.log`."""
    parts = {name: Path(name).parts[:-1] for name in names}
    depths = {len(folders) for folders in parts.values()}
    if len(depths) != 1 or len(names) < 2:
        return {}
    levels = [n for n in range(depths.pop()) if len({folders[n] for folders in parts.values()}) > 1]
    levels = [
        n
        for n in levels
        if not all(_NO_HOST.match(folders[n]) or folders[n].isdigit() for folders in parts.values())
    ]
    if len(levels) != 1 or not all(_HOSTLIKE.match(folders[levels[0]]) for folders in parts.values()):
        return {}
    return {name: folders[levels[0]] for name, folders in parts.items()}
