"""The launchers: the record that describes one, and the functions that find one by its name.

A launcher is one file (or folder) of `launch/launchers/` with the launcher's name and one `LAUNCHER`. Other rooms know
only this record: they read its fields and never compare names. The record is defined in this room because the reader
of the run file needs it first. The files are found by name on demand, like checks and verbs, and never at import
time (docs/decisions/launchers.md).
"""

from __future__ import annotations

import importlib
import pkgutil
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from allranks.core import BadInput, Node, Problem

DEFAULT, LOCAL = "ssh", "local"
"""The launcher of a run file that does not name one, and the launcher that starts ranks on this machine."""

PACKAGE = "allranks.launch.launchers"
SSH, HERE = "ssh", "here"
"""The two values of `reach` for which the controller has its own transport."""


@dataclass(frozen=True)
class Launcher:
    """One way to start a run. Each field answers a question of some room; the defaults describe a start over SSH."""

    name: str
    says: str
    """A description, for the reference of the run file."""

    render: Callable[[Any], Any]
    """Makes the files that start the run without allranks: takes a `ScriptJob`, returns `{name: File}`."""

    starts: bool = True
    """Whether `launch.with` may name it. The others only render files."""

    here: str | None = None
    """The launcher that takes its place if every node is this machine."""

    keys: tuple[str, ...] = ()
    """The keys of `launch` that it reads, besides those that every launcher reads."""

    reach: str | Callable[[Node, str | None], Any] = SSH
    """How the controller reaches the nodes: SSH, HERE, or a function of the node and `launch.address` that returns a
    transport."""

    logs_in_from_head: bool = False
    """Whether its own program opens SSH connections from the head to the other nodes."""

    program: str | None = None
    """The program that must be on the head's path."""

    on_every_node: bool = False
    needs_program: Callable[[Any], bool] = lambda launch: True
    """Whether a run with this `launch` needs the program."""

    starts_python: bool = False
    """Whether it starts `environment.python` itself, and so needs its path before allranks has asked a node."""

    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The packages that contain the program, by Ansible's `os_family`."""

    chooses_nodes: bool = False
    """Whether a number is enough as `nodes`."""

    nodes_of: Callable[[Any], Any] | None = None
    """A coroutine that returns the run with the machines of a cluster that already exists and has chosen them."""

    queue: Callable[[], Any] | None = None
    """Makes the `launch.queue.Queue` that its jobs wait in; None if its nodes are available at once."""

    allocation: Callable[[Mapping[str, str]], tuple[str, int] | None] = lambda environ: None
    """The allocation of a process with these environment variables, as (nodes, GPUs per node); None if it is not in
    one."""

    notices: bool = False
    """Whether it leaves the file `leaving` in the run directory before it takes the nodes away."""

    command: Callable[[Any], list[str]] | None = None
    """The words of the command that starts one supervisor per node (`launch.starting.Start`). Without `command` and
    `begin` the controller starts the supervisors over its own connections."""

    begin: Callable[..., Any] | None = None
    """A coroutine, used in place of `command`. It returns the words of the command and its standard input."""

    script_path: Callable[[Node], str] = lambda node: f"nodes/{node.name}/start.sh"
    """The path of a node's start script, below the run directory."""

    stays: bool = False
    """Whether the nodes stay allocated only while the supervisors are children of the launcher's process."""

    runs_here: Callable[[Any], bool] = lambda run: False
    """Whether the command runs on this machine instead of the head."""

    failures: tuple[tuple[str, str, str], ...] = ()
    """Lines of its output that report a failure: (pattern, meaning, fix)."""


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The names of all launchers, from the names of their files. Nothing is imported."""
    folder = posixpath.join(posixpath.dirname(posixpath.dirname(__file__)), *PACKAGE.split(".")[1:])
    return tuple(sorted(m.name for m in pkgutil.iter_modules([folder]) if not m.name.startswith("_")))


def find(name: str) -> Launcher:
    """The launcher of this name. Raises BadInput for an unknown one."""
    if name not in names():
        raise BadInput(Problem(f"{name!r} is not a launcher.", do="one of " + ", ".join(names())))
    return importlib.import_module(f"{PACKAGE}.{name}").LAUNCHER


def every() -> list[Launcher]:
    return [find(name) for name in names()]


class Startable(Mapping[str, Any]):
    """The JSON schema of `launch.with`, which imports the launchers when it is looked into."""

    def __getitem__(self, key: str) -> Any:
        return {"enum": startable()}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("enum",))

    def __len__(self) -> int:
        return 1


def startable() -> list[str]:
    """The possible values of `launch.with`: the default first."""
    found = [launcher.name for launcher in every() if launcher.starts]
    return sorted(found, key=lambda name: (name != DEFAULT, name))
