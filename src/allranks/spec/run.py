"""The run as the user meant it: frozen, complete, with defaults filled in. Made by `spec.load`.

Nothing here knows how to reach a node. `lines` lets any later room point at the place in the user's
file: `run.line("train.llamafactory.lora_target")`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.core import Cluster, Finding, Where

LAUNCHERS = ("ssh", "local", "ray", "slurm", "mpi", "pdsh", "deepspeed")
"""`ssh` on a cluster whose nodes all are this machine needs no SSH: it becomes `local`."""


CPU = "cpu"
"""As `gpus.model`: the ranks train on CPUs, and that is meant."""


@dataclass(frozen=True)
class Gpus:
    """GPUs (ranks) of a node that says nothing itself; `model` is the distinctive part of its name, or `cpu`."""

    count: int = 1
    model: str | None = None


@dataclass(frozen=True)
class Container:
    engine: str
    image: str
    mounts: tuple[str, ...] = ()
    shm_bytes: int | None = None
    pip: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    wheels: str | None = None


@dataclass(frozen=True)
class Environment:
    """How the training environment's Python is found on a node; `python` None means: the one in use here.

    With `lock` (a requirements file of this machine) `python` makes a virtual environment of it on every node,
    from the folder `wheels` of the node alone where that is given.
    """

    python: str | None = None
    modules: tuple[str, ...] = ()
    activate: str | None = None
    lock: str | None = None
    wheels: str | None = None


@dataclass(frozen=True)
class Network:
    """`interface` is `auto` or a name; `port` the rendezvous port; `keeper_port` 0 means any free one."""

    interface: str = "auto"
    port: int = 39500
    keeper_port: int = 0
    fabric: str = "auto"


@dataclass(frozen=True)
class Launch:
    with_: str = "ssh"
    restarts: int = 0
    spares: int = 0
    partition: str | None = None
    account: str | None = None
    time: str | None = None
    address: str | None = None
    extra: tuple[str, ...] = ()
    inside: bool = False
    """In an allocation that is there already and is not the run's own; never said in a run file."""


def _below(folder: str, path: str) -> str:
    """A relative path as one of this folder."""
    return path if path.startswith(("/", "~")) else posixpath.normpath(posixpath.join(folder, path))


@dataclass(frozen=True)
class Train:
    """`kind` is `llamafactory` (then `arguments` holds its keys, with YAML 1.2 values) or `command`.

    `source` is the LLaMA-Factory YAML the arguments were read from, where they came from a file; `workdir` the
    folder that the ranks start in, if the run file names one.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    source: str | None = None
    workdir: str | None = None


@dataclass(frozen=True)
class Save:
    """`to` is a path in the training environment; None means the node's own run directory."""

    to: str | None = None
    every: int | None = None
    keep: int = 3
    copy_to: str | None = None
    grace_seconds: int = 60
    notice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """One run file, validated. `file` is its path; paths inside it are kept as written, except that
    a relative `deepspeed`, `code`, `train.llamafactory` or `environment.python` path is resolved against
    the run file's folder. `model_config` is the path of a `config.json` that lies beside the run file, or None.

    `lines` maps each dotted key to its line, `lines_in` those of another file to that file; `notes` says
    what was left out or overruled while reading. `text` is the run file as it was read, for the record."""

    name: str
    cluster: Cluster
    train: Train
    file: str | None = None
    user: str | None = None
    transport: str = "asyncssh"
    same_host: bool = False
    gpus: Gpus = Gpus()
    container: Container | None = None
    environment: Environment = Environment()
    code: str | None = None
    network: Network = Network()
    launch: Launch = Launch()
    deepspeed: str = "auto"
    save: Save = Save()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    resume: str | None = None
    alerts: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    model_config: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    lines_in: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()
    text: str = field(default="", repr=False, compare=False)
    nodes_known: bool = True
    """False where the launcher chooses the machines (`nodes: 3` with SLURM or Ray): names and addresses of
    `cluster` then only stand for the node ranks."""

    def without_spares(self) -> Run:
        """The run as if it had the nodes alone that train from the beginning."""
        return replace(self, cluster=Cluster(self.cluster.training)) if self.cluster.spares else self

    @property
    def on_cpu(self) -> bool:
        """Whether the run file asks for training on CPUs by name: `gpus.model: cpu`, or the trainer's `use_cpu`.

        Nothing else means it. Nodes without a GPU may have a dead driver, or be containers without their devices."""
        arguments = self.train.arguments if self.train.kind == "llamafactory" else {}
        return self.gpus.model == CPU or bool(arguments.get("use_cpu") or arguments.get("no_cuda"))

    @property
    def cpu_form(self) -> str:
        """What to write into the run file in order to train on CPUs."""
        if self.train.kind == "llamafactory":
            return "use_cpu: true under train.llamafactory"
        return f"gpus: {{count: {self.gpus.count}, model: cpu}}"

    def line(self, key: str) -> int | None:
        """The line of a dotted key, or of the nearest key above it that was written anywhere.

        None where that came from `--set`. `where` says which file the line is of.
        """
        return self.where(key).line

    def here(self, path: str, bare: bool = False) -> str:
        """A path of the nodes that begins with `./` or `../` is meant from the run file's folder; with `bare`
        any relative one is. It can only mean something where the nodes are this machine; elsewhere, and where it
        begins with `~`, it stays as written."""
        relative = not path.startswith(("/", "~")) if bare else path.startswith(("./", "../"))
        if self.file and self.launch.with_ == "local" and relative:
            # Not for every reader of a run file: it brings urllib and ipaddress along.
            from pathlib import Path

            return str((Path(self.file).resolve().parent / path).resolve())
        return path

    def script(self, code: str | None = None) -> list[str]:
        """`train.command` as torchrun starts it: a path, or `-m` and a module, and the arguments. `code` is where the
        shipped code lies: a relative script is one of that folder."""
        program, *words = self.train.command
        if program == "-m":
            return [program, *words]
        return [_below(code, program) if code else self.here(program, bare=True), *words]

    def workdir(self, code: str | None = None) -> str | None:
        """The folder of a node that the ranks start in, None for one of the run's own. `code` as for `script`.

        A script of the user's own starts where it lies, since it may open what lies beside it; a module where the
        code or the run file is, as under a torchrun that is started there by hand."""
        if self.train.workdir:
            return _below(code, self.train.workdir) if code else self.here(self.train.workdir, bare=True)
        if self.train.kind == "llamafactory" or not self.train.command:
            return None
        first = self.script(code)[0]
        folder = code or self.here(".", bare=True) if first == "-m" else posixpath.dirname(first)
        return folder if folder.startswith(("/", "~")) else None

    def where(self, key: str) -> Where:
        """The place of a dotted key: the run file, the LLaMA-Factory YAML it came from, or its `--set`."""
        parts = key.split(".")
        for n in range(len(parts), 0, -1):
            above = ".".join(parts[:n])
            if above in self.lines or above in self.lines_in:
                return Where(file=self.lines_in.get(above, self.file), line=self.lines.get(above))
        return Where(file=self.file)
