"""The launchers: what can be known of one, and how a room finds one by its name.

A launcher is one file (or folder) of `launch/launchers/`, named like it, with one `LAUNCHER`. This record is all that
other rooms know of it: they ask it, and never compare names. It stands here, since the run file's reader is the
first who asks; the files are found by name when somebody asks, as checks and verbs are, and never at import time
(docs/decisions/launchers.md).
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
"""The launcher of a run file that names none, and that of this machine."""

PACKAGE = "allranks.launch.launchers"
SSH, HERE = "ssh", "here"
"""The two ways to a node that `reach` has itself."""


@dataclass(frozen=True)
class Launcher:
    """One way of starting a run. Each field is what some room asks; the defaults are those of a start over SSH."""

    name: str
    says: str
    """What it is, for the reference of the run file."""

    render: Callable[[Any], Any]
    """The files that run it without allranks: a `ScriptJob` in, `{name: File}` out."""

    starts: bool = True
    """Whether `launch.with` may name it; the others render files alone."""

    here: str | None = None
    """The launcher that takes its place if every node is this machine."""

    keys: tuple[str, ...] = ()
    """The keys of `launch` that it reads, besides those that every launcher reads."""

    reach: str | Callable[[Node, str | None], Any] = SSH
    """How the controller reaches its nodes: SSH, HERE, or a transport made of the node and `launch.address`."""

    logs_in_from_head: bool = False
    """Whether its own program opens SSH connections from the head to the other nodes."""

    program: str | None = None
    """What must be on the head's path."""

    on_every_node: bool = False
    needs_program: Callable[[Any], bool] = lambda launch: True
    """Whether a run with this `launch` needs it."""

    starts_python: bool = False
    """Whether it starts `environment.python` itself, and so needs its path before any node was asked."""

    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What holds its program, by Ansible's `os_family`."""

    chooses_nodes: bool = False
    """Whether a number is enough as `nodes`."""

    nodes_of: Callable[[Any], Any] | None = None
    """A coroutine: the run with the machines that a cluster chose, which is there already."""

    queue: Callable[[], Any] | None = None
    """Makes the `launch.queue.Queue` that its jobs wait in; None if its nodes need no waiting for."""

    allocation: Callable[[Mapping[str, str]], tuple[str, int] | None] = lambda environ: None
    """The nodes, and the GPUs of one, of the allocation that a process with these variables is in."""

    notices: bool = False
    """Whether it leaves the file `leaving` in the run directory before it takes the nodes away."""

    command: Callable[[Any], list[str]] | None = None
    """The words that start one supervisor a node (`launch.starting.Start`). With neither `command` nor `begin` the
    controller starts them by its own connections."""

    begin: Callable[..., Any] | None = None
    """A coroutine in place of `command`: the words and their standard input."""

    script_path: Callable[[Node], str] = lambda node: f"nodes/{node.name}/start.sh"
    """The path of a node's start script, below the run directory."""

    stays: bool = False
    """Whether it holds the nodes for as long as the supervisors stay its children."""

    runs_here: Callable[[Any], bool] = lambda run: False
    """Whether the command runs on this machine instead of the head."""

    failures: tuple[tuple[str, str, str], ...] = ()
    """Lines of its output that tell of a failure: pattern, meaning, fix."""


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Every launcher, by the names of their files: none is imported for that."""
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
