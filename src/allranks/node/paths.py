"""The paths of a run's files on a node. `files` and `journal` write and read them.

Their functions are offered here too, so that code that works with a run directory needs one import.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import List, Optional

from allranks.core import BadInput, Problem
from allranks.node import private_folder
from allranks.node.files import (
    FLAGS,
    open_regular,
    read_bytes,
    read_json,
    read_object,
    read_text,
    size_of,
    write_bytes,
    write_json,
    write_text,
)
from allranks.node.journal import Journal, Lines, Tail, events_of, read_events

__all__ = [
    "Journal",
    "KeeperDirectory",
    "Lines",
    "NodeDirectory",
    "RunDirectory",
    "Tail",
    "checked_name",
    "events_of",
    "home",
    "open_regular",
    "read_bytes",
    "read_events",
    "read_json",
    "read_object",
    "read_text",
    "size_of",
    "write_bytes",
    "write_json",
    "write_text",
]

MARKER = ".allranks-run"
"""A file in every run directory that holds its run id: `clean` removes nothing that lacks it."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def home() -> str:
    """`$ALLRANKS_HOME`, by default `~/.allranks`; absolute."""
    return os.path.abspath(os.environ.get("ALLRANKS_HOME") or os.path.expanduser("~/.allranks"))


default_home = home  # where a parameter has the name


def checked_name(name: str, what: str) -> str:
    """`name` where it may be one part of a path; raises `BadInput` otherwise."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise BadInput(
        Problem(
            saw=f"{name!r} is not a valid name for a {what}.",
            why="it becomes a part of a path on every node.",
            do="1 to 128 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash.",
        )
    )


class NodeDirectory:
    """`nodes/<name>/` of a run directory: the files that this node's supervisor and ranks write."""

    def __init__(self, root: str, name: str):
        self.name = checked_name(name, "node")
        self.root = os.path.join(root, "nodes", self.name)
        self.output = os.path.join(root, "output")
        """The run's output folder, if `save.to` names none; nodes may share it."""
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
        self.save_request = os.path.join(self.stacks, "save")
        self.imports = os.path.join(self.root, "imports.json")
        self.work = os.path.join(self.root, "work")

    def rank_log(self, rank: int) -> str:
        return os.path.join(self.logs, f"rank-{rank}.log")

    def rank_events(self, rank: int) -> str:
        return os.path.join(self.ranks, f"rank-{rank}.jsonl")

    def rank_stacks(self, rank: int) -> str:
        return os.path.join(self.stacks, f"rank-{rank}.txt")

    def file(self, name: str) -> str:
        """A file of the job's `files`; refused if the name is one that the supervisor itself writes."""
        path = os.path.join(self.root, checked_name(name, "file"))
        own = (self.job, self.supervisor, self.journal, self.processes, self.imports)
        if path in own or path in (self.logs, self.ranks, self.stacks, self.work):
            raise BadInput(Problem(saw=f"the job's file {name!r} is named like one of the run directory."))
        return path

    def create(self) -> None:
        for path in (self.root, self.logs, self.ranks, self.stacks, self.work):
            make_private(path)


class KeeperDirectory:
    """`keeper/` of a run directory; it exists on the head node only."""

    def __init__(self, root: str):
        self.root = os.path.join(root, "keeper")
        self.identity = os.path.join(self.root, "keeper.json")
        self.journal = os.path.join(self.root, "journal.jsonl")
        self.state = os.path.join(self.root, "state.json")
        self.stop = os.path.join(self.root, "stop.json")
        self.report = os.path.join(self.root, "report.html")
        self.log_ends = os.path.join(self.root, "log-ends.json")
        self.reserve = os.path.join(self.root, "reserve")

    def create(self) -> None:
        make_private(self.root)


class RunDirectory:
    """`<home>/runs/<run id>/`. Making one of these creates nothing; `create` does.

    Raises `BadInput` where `run_id` may not be part of a path.
    """

    def __init__(self, run_id: str, home: Optional[str] = None):
        self.run_id = checked_name(run_id, "run")
        self.home = os.path.abspath(home) if home else default_home()
        self.root = os.path.join(self.home, "runs", self.run_id)
        self.run = os.path.join(self.root, "run.json")
        self.plan = os.path.join(self.root, "plan.json")
        self.marker = os.path.join(self.root, MARKER)
        self.keeper = KeeperDirectory(self.root)

    def node(self, name: str) -> NodeDirectory:
        return NodeDirectory(self.root, name)

    def nodes(self) -> List[str]:
        """The names of the nodes that have a folder here, sorted; empty if there is none."""
        try:
            names = os.listdir(os.path.join(self.root, "nodes"))
        except OSError:
            return []
        return sorted(name for name in names if _NAME.fullmatch(name))

    def node_directories(self) -> List[NodeDirectory]:
        return [self.node(name) for name in self.nodes()]

    def create(self, node: Optional[str] = None, keeper: bool = False) -> None:
        """Makes the run's folders (mode 0700) and its marker; existing files are left as they are.

        Raises OSError, also if the run directory is a link or belongs to another user.
        """
        private_folder.make(
            os.path.join(self.home, "runs")
        )  # may be a link: the user chooses where the home is
        make_private(self.root)
        if os.lstat(self.root).st_uid != os.geteuid() and os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", self.root)
        make_private(os.path.join(self.root, "nodes"))
        self._mark()
        if node is not None:
            self.node(node).create()
        if keeper:
            self.keeper.create()

    def uid(self) -> int:
        """The run's user: we, or for root the owner of the directory (a server that squashes root: root)."""
        me = os.geteuid()
        try:
            owner = os.lstat(self.root).st_uid
        except OSError:
            return me
        return me if me or owner == private_folder.NOBODY else owner

    def is_marked(self) -> bool:
        return read_text(self.marker, 256).strip() == self.run_id

    def _mark(self) -> None:
        try:
            descriptor = os.open(self.marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
        except FileExistsError:
            return
        try:
            os.write(descriptor, (self.run_id + "\n").encode())
        except OSError:
            os.unlink(self.marker)  # nobody could tell by an empty mark whose the folder is, or remove it
            raise
        finally:
            os.close(descriptor)


def unless_gone(error: OSError) -> None:
    """For `os.walk(onerror=…)`, which leaves out without a word what it cannot read. Raises the error unless the
    folder is gone."""
    if not isinstance(error, FileNotFoundError):
        raise error


def make_private(path: str) -> None:
    """Makes a folder of mode 0700 where there is none; raises OSError if a link or a file is there."""
    try:
        private_folder.make(os.path.dirname(path))
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise
