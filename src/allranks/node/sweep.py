"""Finds, stops and removes the leftovers of a run on this node, whatever died: `sweep` and `clean`.

`ownership` decides whose a process is; it is asked again before every signal. Nothing is found by name.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from allranks.core import BadInput, Problem, Process
from allranks.node import extension_locks, processes, ray_cluster, saved_models, shared_memory
from allranks.node.log_redaction import LogRedactor
from allranks.node.ownership import RUN_ID_VARIABLE, Claim, Ownership, Records, read_records
from allranks.node.paths import RunDirectory, Tail, read_object
from allranks.node.redaction import Redactor
from allranks.node.removal import remove_tree
from allranks.node.run_reader import FINAL, status
from allranks.node.secret_store import SecretStore
from allranks.node.stopping import FORCE_SECONDS, Stopping
from allranks.node.supervisor import KEEPER_SECONDS
from allranks.node.temporary_folder import TemporaryFolder

DRAFT = re.compile(r"\..+\.[0-9]+\.[0-9]+\.draft")
"""As `files.write_bytes` names what it has not finished: `.<name>.<pid>.<thread>.draft`."""

GRACE_SECONDS = 10.0
ENDING_SECONDS = 10.0
"""A supervisor that was dismissed ends within its last words (3 s)."""


class Sweep:
    """One run's remains on this machine; none at all where it has no directory here.

    `gone` are nodes of which the caller knows that nothing lives: their container has ended.
    Raises BadInput if something else has the directory's name.
    """

    def __init__(self, run_id: str, gone: Sequence[str] = ()):
        self.gone = frozenset(gone)
        self.directory = RunDirectory(run_id)
        self.exists = os.path.lexists(self.directory.root)
        if self.exists and (os.path.islink(self.directory.root) or not self.directory.is_marked()):
            saw = f"{self.directory.root} is not a run directory: it lacks the run's marker."
            why = "allranks does not stop or remove what it did not make."
            raise BadInput(Problem(saw=saw, why=why, do="look at what it is"))
        self.uid = self.directory.uid()
        self.boot_id = processes.boot_id()
        self.unseen: List[str] = []

    def ownership(self) -> Ownership:
        return Ownership(
            self.directory.run_id,
            self._records(),
            self.uid,
            processes.owner,
            lambda pid: (processes.read_environ(pid) or {}).get(RUN_ID_VARIABLE),
            spared=_us(),
        )

    def ours(self) -> List[Claim]:
        """One look at every process there is."""
        return self.ownership().ours(processes.table())

    def foreign(self) -> List[Claim]:
        table = processes.table()
        ownership = self.ownership()
        return ownership.foreign(table, ownership.ours(table))

    def as_process(self, stat: processes.Stat) -> Process:
        return Process("", stat.pid, stat.start_time, self.boot_id, self.directory.run_id)

    def supervisor_lives(self) -> bool:
        return any(
            processes.lives(read_object(node.supervisor)) for node in self.directory.node_directories()
        )

    def sessions(self) -> FrozenSet[int]:
        """Those of the living supervisors, which hold them and what the keeper started, and no rank (`descendants`)."""
        records = [read_object(node.supervisor) for node in self.directory.node_directories()]
        stats = [processes.read_stat(int(one["pid"])) for one in records if processes.lives(one)]
        return frozenset(stat.session for stat in stats if stat is not None)

    def grace_seconds(self) -> float:
        jobs = [read_object(node.job) for node in self.directory.node_directories()]
        return max([float(job.get("grace_seconds") or 0.0) for job in jobs], default=GRACE_SECONDS)

    def stop(self) -> Dict[str, Any]:
        """Stops all processes of the run. A living supervisor is asked first, and gets the time to do it itself."""
        grace = self.grace_seconds()
        if self.supervisor_lives():
            grace += FORCE_SECONDS + KEEPER_SECONDS
        return Stopping(lambda: [claim.stat for claim in self.ours()], self.as_process, grace).run()

    def remains(self) -> List[str]:
        """Files of the run that a killed supervisor left outside the run directory, or half-written in it."""
        vaults = [SecretStore(self.directory, name).path() for name in self.directory.nodes()]
        drafts = []
        for folder in (self.directory.root, self.directory.keeper.root, *self._node_folders()):
            with _opened(folder) as descriptor:
                names = os.listdir(descriptor) if descriptor is not None else []
            drafts += [os.path.join(folder, name) for name in names if DRAFT.fullmatch(name)]
        memory = shared_memory.left(self._memory_lines(), self.boot_id, self.uid)
        rest = [*sorted(drafts), *memory, *self._extension_locks(), *self._folders_of_ray()]
        return [path for path in (*vaults, *self._temporary()) if path] + rest

    def _temporary(self) -> Dict[str, TemporaryFolder]:
        """The ranks' temporary folders, by their paths; none of a node whose processes cannot be seen from here."""
        nodes = [node for node in self.directory.node_directories() if node.name not in self.unseen]
        found = [(folder.path(self.uid), folder) for folder in map(TemporaryFolder, nodes)]
        return {path: folder for path, folder in found if path}

    def _memory_lines(self) -> List[Dict[str, Any]]:
        paths = [os.path.join(folder, shared_memory.NAME) for folder in self._node_folders()]
        return [line for path in paths for line in _whole(path)]

    def _extension_locks(self) -> List[str]:
        """torch's locks of operators that killed ranks were compiling."""
        found: List[str] = []
        for node in self.directory.node_directories():
            records = _whole(os.path.join(node.root, extension_locks.NAME))
            found += extension_locks.left(records, self.uid, is_gone=node.name in self.gone)
        return found

    def _folders_of_ray(self) -> List[str]:
        """The folders that the run's own Ray cluster left in /tmp when its holder was killed (`ray_cluster.py`)."""
        names = self.directory.nodes()
        return [folder for name in names for folder in ray_cluster.folders_of(self.directory, name)]

    def tidy(self) -> List[str]:
        """Removes the files that `remains` names, and returns those that were removed; the logs are masked before the
        secrets are forgotten."""
        paths = self.remains()
        for node in self.directory.node_directories():
            values = SecretStore(self.directory, node.name).values().values()
            folders = [node.logs, node.ranks, node.stacks] if _is_own_folder(node.root) else []
            LogRedactor(Redactor(values), folders).turn()
        temporary = self._temporary()
        stay = {path for path, one in temporary.items() if one.remove(self.uid, seconds=None) is None}
        for path in paths:
            if path in temporary:
                continue
            if os.path.isdir(path):
                ray_cluster.remove(path)
            elif not path.startswith(self.directory.root + os.sep):
                with suppress(FileNotFoundError):
                    os.unlink(path)  # in /dev/shm, which may itself be a link, or a lock of torch's
            else:
                _unlink_in(*os.path.split(path))
        return [path for path in paths if path not in stay]

    def _node_folders(self) -> List[str]:
        return [node.root for node in self.directory.node_directories()]

    def _records(self) -> Records:
        """The records of this machine's supervisors, and the supervisors themselves."""
        lines: List[Dict[str, Any]] = []
        self.unseen = []
        for node in self.directory.node_directories():
            mine = [line for line in [read_object(node.supervisor), *_whole(node.processes)] if line]
            visible = [line for line in mine if processes.can_be_seen(line)]
            if len(visible) < len(mine) and node.name not in self.gone:
                self.unseen.append(node.name)
            lines += visible
        return read_records(lines, self.boot_id)


@contextmanager
def _opened(folder: str) -> Iterator[Optional[int]]:
    """A folder's descriptor; None if there is none, or a link: it may lead into another user's files."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unlink_in(folder: str, name: str) -> None:
    with _opened(folder) as descriptor:
        if descriptor is not None:
            with suppress(FileNotFoundError):  # another node of this home was faster
                os.unlink(name, dir_fd=descriptor)


def _is_own_folder(folder: str) -> bool:
    with _opened(folder) as descriptor:
        return descriptor is not None


def refuse_led(run_id: str, seconds: float = ENDING_SECONDS) -> None:
    """Raises BadInput if a supervisor lives here, unless the keeper wrote here that the run has ended.

    Waits up to `seconds` for a supervisor that is about to end: on nodes without the keeper nothing else tells
    a run that works from one that says its last words.
    """
    found = Sweep(run_id)
    deadline = time.monotonic() + seconds
    while found.exists and status(run_id)["state"] not in FINAL and found.supervisor_lives():
        if time.monotonic() > deadline:
            saw = f"a supervisor of run {run_id} is at work here, and no keeper wrote here that the run has ended."
            why = "what nobody leads any more is swept, what is at work is only stopped."
            raise BadInput(Problem(saw=saw, why=why, do=f"allranks stop {run_id}"))
        time.sleep(0.2)


def sweep(run_id: str, dry_run: bool = False, gone: Sequence[str] = ()) -> Dict[str, Any]:
    """Stops and removes the leftovers of a run here, or only names them (`dry_run`).

    `processes` belong to the run (after the sweep: those that did not end). `stopped` are the processes that were
    signalled, and `files` are the removed files. `foreign` processes carry the run id but are left alone. `unseen`
    are the nodes whose processes cannot be seen from here (another host, a container). In a dry run `own` marks a
    process of allranks itself: a supervisor, or a process that the keeper started.
    """
    found = Sweep(run_id, gone)
    claims = found.ours()
    answer: Dict[str, Any] = {"run_id": run_id, "dry_run": dry_run, "stopped": []}
    answer["foreign"] = [_named(claim) for claim in found.foreign()]
    answer["unseen"] = found.unseen
    if dry_run:
        sessions = found.sessions()
        ours = [{**_named(claim), "own": claim.stat.session in sessions} for claim in claims]
        files = found.remains()
    else:
        why = {claim.stat.pid: claim.why for claim in claims}
        report = found.stop()
        ours = report["left"]
        answer["stopped"] = [{**entry, "why": why.get(entry["pid"], "")} for entry in report["signalled"]]
        # A process that no signal ends may still print: then the secrets' values are needed once more.
        files = [] if ours else found.tidy()
    answer.update(processes=ours, files=files)
    return answer


def clean(
    run_id: str, gone: Sequence[str] = (), with_models: bool = False, dry_run: bool = False
) -> Dict[str, Any]:
    """Removes the directory of a run that has ended and left no process here. Raises BadInput otherwise.

    Descends by folder descriptors, follows no link, and stays on the file system and with the owner of the run
    directory: files that other users put there and mounted folders stay, and are named in `kept`. Models that the
    script saved stay too, and are named in `models`, unless `with_models` asks for their removal: then `models` names
    the removed ones. In a dry run nothing is removed, and `rest` says whether anything else would be: without a model
    the whole directory.
    """
    found = Sweep(run_id, gone)
    answer: Dict[str, Any] = {"run_id": run_id, "removed": None, "kept": [], "models": []}
    if not found.exists:
        return answer
    if not dry_run:
        _refuse_living(found)
        found.tidy()
    saved, rest = _models(found.directory, with_models)
    answer["models"] = saved
    if dry_run:
        return {**answer, "rest": rest or not saved}
    spared = set() if with_models else saved_models.spared(found.directory, saved)
    kept = remove_tree(os.path.dirname(found.directory.root), run_id, spared)
    answer["kept"] = [path for path in kept if path not in spared]
    return {**answer, "removed": None if spared else found.directory.root}


def _models(directory: RunDirectory, with_models: bool) -> Tuple[List[Dict[str, Any]], bool]:
    """What `saved_models.find` says. Raises BadInput if it could not look everywhere and models are to be kept."""
    try:
        return saved_models.find(directory)
    except OSError as error:
        if with_models:
            return [], True
        saw = f"{error.filename or directory.root} cannot be read: {error.strerror or error}."
        why = "a model that the run's script saved may be there, and clean keeps models."
        do = f"when its storage answers again: allranks clean {directory.run_id}; with --models models are removed too"
        raise BadInput(Problem(saw=saw, why=why, do=do)) from None


def _refuse_living(found: Sweep) -> None:
    run_id, alive = found.directory.run_id, found.ours()
    saw = ""
    if alive:
        pids = ", ".join(str(claim.stat.pid) for claim in alive[:8])
        saw = f"run {run_id} has {len(alive)} living processes here: pid {pids}."
    elif found.unseen and status(run_id)["state"] not in FINAL:
        nodes = ", ".join(found.unseen)
        saw = f"run {run_id} has not ended, and its processes of {nodes} cannot be seen from here."
    if saw:
        raise BadInput(Problem(saw=saw, why="they write into its directory.", do=f"allranks stop {run_id}"))


def _whole(path: str) -> List[Dict[str, Any]]:
    """All the objects in a file of JSON lines."""
    tail, lines, before = Tail(path), [], -1
    while tail.offset != before:
        before = tail.offset
        lines += tail.read()
    return lines


def _named(claim: Claim) -> Dict[str, Any]:
    stat = claim.stat
    return {"pid": stat.pid, "start_time": stat.start_time, "name": stat.name, "why": claim.why}


def _us() -> FrozenSet[int]:
    """This program and all above it: a sweep never stops who asked for it."""
    pids: List[int] = []
    pid: Optional[int] = os.getpid()
    while pid:
        pids.append(pid)
        found = processes.read_stat(pid)
        pid = found.ppid if found is not None else None
    return frozenset(pids)
