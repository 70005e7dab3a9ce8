"""Copies a checkpoint to this machine, either completely or not at all. An interrupted copy can be continued.

The copy grows under a temporary name. It is moved to its place when every file has the size and the SHA-256 that the
node reported. File names that lead out of the folder are refused.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from allranks.checkpoints import copying, node_verbs
from allranks.core import BadInput, Blocked, CouldNotTell, Problem
from allranks.core.text import plural, printable
from allranks.core.untrusted import integer, mapping, mappings
from allranks.core.untrusted import text as text_of
from allranks.runs.checkpoint_places import CheckpointPlace
from allranks.transport import ProgramFailed
from allranks.worker.adapter_files import sync

FETCHING = ".allranks-fetching-"
SHA256 = re.compile(r"[0-9a-f]{64}")
Heard = Callable[[int, int], None]


@dataclass(frozen=True)
class RemoteFile:
    """A file as the node reports it. `name` is relative to the checkpoint's folder."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Fetched:
    """The result of a copy: `copied_bytes` were copied now, `kept_bytes` by an earlier try."""

    source: str
    target: str
    files: int
    copied_bytes: int
    kept_bytes: int
    seconds: float
    step: int | None
    whole: bool | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def fetch(
    place: CheckpointPlace,
    target: str | None,
    step: int | None = None,
    heard: Heard = lambda done, total: None,
) -> Fetched:
    """Copies a checkpoint. Raises BadInput (nothing there, the target exists), Blocked (the checkpoint is damaged),
    Unreachable, and CouldNotTell if the copy was interrupted; the same command then continues it."""
    began = time.monotonic()
    told = await place.on_node("files", **({} if step is None else {"step": step}))
    path = str(told.get("path") or "")
    report = mapping(told.get("report"))
    refuse_nothing(place, path, told)
    refuse_damaged(place, path, report)
    files = checked(told.get("files"), place, path)
    single = told.get("single") is True and len(files) == 1
    goal = goal_of(place, path, target, single)
    if single and goal.is_dir():
        goal = goal / files[0].name
    if os.path.lexists(goal) and not (goal.is_dir() and not any(goal.iterdir())):
        raise BadInput(Problem(f"{goal} exists", "nothing is overwritten.", "another name, or move it away"))
    growing = goal.parent / (FETCHING + goal.name)
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        make_own(growing)
        kept = sum(left_from_before(growing, one) for one in files)
        refuse_full_disk(growing, sum(one.bytes for one in files) - kept)
        await bring(place, path, growing, files, heard)
        if single:
            settle_file(growing, goal, files[0])
        else:
            settle(growing, goal, files)
    except OSError as error:
        problem = Problem(
            f"{error.filename or goal}: {error.strerror}", do="another TO, or the same command again"
        )
        raise BadInput(problem) from error
    total = sum(one.bytes for one in files)
    where = f"{place.node}:{path}" if place.node else path
    whole = report.get("whole") if isinstance(report.get("whole"), bool) else None
    seconds = round(time.monotonic() - began, 3)
    return Fetched(
        where, str(goal), len(files), total - kept, kept, seconds, integer(report.get("step")), whole
    )


def goal_of(place: CheckpointPlace, path: str, target: str | None, single: bool = False) -> Path:
    """The folder or file to make. If TO is `.` or ends with a slash, it is the folder around that one."""
    inside = target is None or target.endswith("/") or target in (".", "..")
    folder = Path(target or ".")
    return (folder / default_name(place, path, single) if inside else folder).absolute()


def default_name(place: CheckpointPlace, path: str, single: bool = False) -> str:
    """`RUN-checkpoint-50`, `RUN-model.pt` of a file, or the folder's own name. A final adapter gets its run's name."""
    name = PurePosixPath(path).name
    run_id = text_of(place.request.get("run"))
    if run_id is None:
        return name
    return f"{run_id}-{name}" if single or name.startswith("checkpoint-") else run_id


def refuse_nothing(place: CheckpointPlace, path: str, told: Mapping[str, Any]) -> None:
    """Raises BadInput for an output folder in which the run has saved nothing."""
    if place.request.get("run") is not None and not told.get("files"):
        raise BadInput(
            Problem(
                f"{place.text} has saved nothing in {printable(path)}",
                do=f"allranks logs {place.text} shows what its ranks printed",
            )
        )


def refuse_damaged(place: CheckpointPlace, path: str, report: Mapping[str, Any]) -> None:
    """Raises Blocked for a damaged checkpoint. A checkpoint that could not be judged is copied."""
    against = [f for f in mappings(report.get("findings")) if f.get("verdict") == "block"]
    if against:
        said = "; ".join(f"{f.get('id')}: {printable(f.get('saw'))}" for f in against[:3])
        raise Blocked(
            f"{place.text}: {printable(path)} is damaged: {said}\n  fix  allranks checkpoints list {place.text} shows "
            "the others; --step N takes one"
        )


def checked(told: Any, place: CheckpointPlace, path: str) -> list[RemoteFile]:
    """The files in a node's answer. Raises CouldNotTell if the answer is malformed, or names a file outside the
    folder."""
    found = []
    for one in mappings(told):
        name, size, sha = text_of(one.get("name")), integer(one.get("bytes")), text_of(one.get("sha256"))
        parts = name.split("/") if name else []
        if not name or any(part in ("", ".", "..") for part in parts) or "\0" in name or "\\" in name:
            raise CouldNotTell(
                f"{place.node}: it names {printable(name)!r}, which is not a file below {printable(path)}"
            )
        if size is None or size < 0 or sha is None or not SHA256.fullmatch(sha):
            raise CouldNotTell(f"{place.node}: it has no size and SHA-256 for {printable(name)}")
        found.append(RemoteFile(name, size, sha))
    if not found:
        raise BadInput(
            Problem(f"{place.text}: {printable(path)} holds no file", do="allranks checkpoints list RUN")
        )
    if len({one.name for one in found}) < len(found):
        raise CouldNotTell(f"{place.node}: it names a file twice in {printable(path)}")
    return found


def make_own(growing: Path) -> None:
    """Makes the temporary folder. Raises BadInput if it belongs to another user, or is a link to another place."""
    growing.mkdir(mode=0o700, exist_ok=True)
    if growing.is_symlink() or growing.lstat().st_uid != os.geteuid():
        raise BadInput(Problem(f"{growing} is not a folder of yours", do="another TO"))


def refuse_full_disk(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size:
        saw = f"{free / 2**20:,.1f} MiB are free at {folder.parent}, and {size / 2**20:,.1f} MiB are needed"
        raise BadInput(Problem(saw, do="free space, or TO on another disk"))


def left_from_before(growing: Path, one: RemoteFile) -> int:
    """How many bytes an earlier try has left; a file that is too long is removed."""
    path = growing / one.name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BadInput(Problem(f"{path} is not a file of an earlier try", do=f"remove {growing}"))
    if not path.exists():
        return 0
    size = path.stat().st_size
    if size > one.bytes:
        path.unlink()
        return 0
    return size


async def bring(
    place: CheckpointPlace, path: str, growing: Path, files: Sequence[RemoteFile], heard: Heard
) -> None:
    """Copies all files. A file whose digest differs is copied once more from its beginning."""
    missing = list(files)
    for _ in range(2):
        await receive(place, path, growing, missing, heard)
        missing = [one for one in missing if not is_same(growing, one)]
        if not missing:
            return
        for one in missing:
            (growing / one.name).unlink(missing_ok=True)
    raise CouldNotTell(
        f"{place.text}: {plural(len(missing), 'file')} came twice with another SHA-256 than reported: "
        f"{printable(missing[0].name)}. It may be changing.\n  fix  the same command again"
    )


def is_same(growing: Path, one: RemoteFile) -> bool:
    path = growing / one.name
    return path.is_file() and path.stat().st_size == one.bytes and copying.digest_of(str(path)) == one.sha256


async def receive(
    place: CheckpointPlace, path: str, growing: Path, files: Sequence[RemoteFile], heard: Heard
) -> None:
    """Appends the received pieces to the files, each at its present end."""
    total = sum(one.bytes for one in files)
    offsets = {one.name: left_from_before(growing, one) for one in files}
    done, writer = sum(offsets.values()), Writer(growing, {one.name: one.bytes for one in files}, offsets)
    wanted = {"path": path, "files": {name: at for name, at in offsets.items() if at < writer.sizes[name]}}
    for name in offsets:
        writer.make(name)
    heard(done, total)
    try:
        async with aclosing(lines_of(place, wanted)) as lines:
            async for line in lines:
                done += writer.add(line)
                heard(done, total)
    except ProgramFailed as error:
        raise CouldNotTell(
            f"{place.text}: {error.text}\n  fix  the same command continues the copy"
        ) from error
    finally:
        writer.close()


async def lines_of(place: CheckpointPlace, wanted: Mapping[str, Any]):
    if not wanted["files"]:
        return
    if place.nodes is None:
        for line in node_verbs.pieces(wanted, lambda: False):
            yield line
        return
    program = next(iter(place.nodes.programs.values()))
    async with aclosing(program.lines("checkpoints", "pieces", stdin=wanted)) as lines:
        async for line in lines:
            yield line


class Writer:
    """Writes pieces to files below a folder. It accepts only requested files, in order, and no longer than reported."""

    def __init__(self, folder: Path, sizes: Mapping[str, int], offsets: dict[str, int]):
        self.folder, self.sizes, self.offsets = folder, sizes, offsets
        self._name, self._fd = "", -1

    def make(self, name: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(self._open(path))

    def _open(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)

    def add(self, line: Mapping[str, Any]) -> int:
        """Returns the number of bytes written. Raises CouldNotTell for a piece that was not requested."""
        name, offset = str(line.get("name")), integer(line.get("offset"))
        try:
            data = base64.b64decode(str(line.get("data")), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        at = self.offsets.get(name)
        if not data or at is None or offset != at or at + len(data) > self.sizes[name]:
            raise CouldNotTell(
                f"the node sent a piece that was not requested: {printable(name)} at byte {offset}"
            )
        if name != self._name:
            self.close()
            self._name, self._fd = name, self._open(self.folder / name)
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self.offsets[name] += len(data)
        return len(data)

    def close(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)
            os.close(self._fd)
        self._name, self._fd = "", -1


def settle(growing: Path, goal: Path, files: Sequence[RemoteFile]) -> None:
    """Moves the complete copy into place, without files of an earlier try that the node no longer has."""
    for stray in set(copying.files_below(str(growing))) - {one.name for one in files}:
        (growing / stray).unlink()
    mask = os.umask(0)
    os.umask(mask)
    growing.chmod(0o777 & ~mask)
    sync(str(growing))
    if goal.is_dir():
        goal.rmdir()  # fails if the folder is no longer empty
    growing.rename(goal)
    sync(str(goal.parent))


def settle_file(growing: Path, goal: Path, one: RemoteFile) -> None:
    """Moves the copy into place if the checkpoint is one file."""
    (growing / one.name).rename(goal)
    sync(str(goal.parent))
    shutil.rmtree(growing)
