"""The run as the user meant it: frozen, complete, with defaults filled in. Made by `spec.load`.

Nothing here knows how to reach a node. `lines` lets any later room point at the place in the user's
file: `run.line("train.llamafactory.lora_target")`.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.core import BadInput, Cluster, Finding, Problem, Where
from allranks.spec import launchers, trainer_yaml, validate
from allranks.spec.keys import Key, declared, key
from allranks.spec.reading import (
    GPU_COUNT,
    boolean,
    choice,
    deepspeed_config,
    integer,
    listed,
    own_path,
    read_env,
    read_sweep,
    resume_from,
    run_name,
    text,
)
from allranks.spec.sections import Alerts, Container, Environment, Gpus, Launch, Network, Prepare, Save, Train

CPU = "cpu"
"""The value of `gpus.model` with which the user asks for training on CPUs."""


def _below(folder: str, path: str) -> str:
    """The path; a relative one is joined to the folder."""
    return path if path.startswith(("/", "~")) else posixpath.normpath(posixpath.join(folder, path))


@dataclass(frozen=True)
class Run:
    """One run file, validated. `file` is its path; paths inside it are kept as written, except that
    a relative `deepspeed`, `code`, `train.llamafactory` or `environment.python` path is resolved against
    the run file's folder. `model_config` is the path of a `config.json` in the run file's folder, or None.

    `lines` maps each dotted key to its line; `lines_in` maps the keys that came from another file to that file. `notes`
    are findings about settings that were left out or overruled while reading. `text` is the run file as it was read,
    for the record."""

    name: str = key(
        text(run_name, "such as deepseek-v3-lora", validate.NAME),
        "The run's name, part of its id.",
        form="letters, digits, `.`, `_`, `-`",
        unset="the file's name",
    )
    cluster: Cluster = key(
        None,
        "The machines, the head first. See *Nodes* below.",
        form="`node[1-2]`, `user@host`, `localhost`, a list, a mapping, or the path of a hostfile",
        unset="required",
        name="nodes",
    )
    train: Train = key(
        None,
        "The training itself.",
        form="a mapping with one of the first two keys below",
        unset="required",
        section=Train,
        schema={"oneOf": [{"required": ["llamafactory"]}, {"required": ["command"]}]},
    )
    file: str | None = None
    user: str | None = key(
        text(validate.user, pattern=validate.USER),
        "The user who logs in, if a node does not name another.",
        None,
        form="a user's name",
        unset="ssh's own choice",
    )
    gpus: Gpus = key(
        GPU_COUNT,
        "GPUs (ranks) of each node that does not give its own number. To train on CPUs: `{count: 2, model: cpu}`.",
        Gpus(),
        form="a number, or `{count, model}`",
        unset="1",
    )
    container: Container | None = key(
        None,
        "The container that training runs in.",
        None,
        section=Container,
        schema={
            "anyOf": [
                {"required": ["image"]},
                {"properties": {"engine": {"const": "none"}}, "required": ["engine"]},
            ]
        },
    )
    environment: Environment = key(
        None,
        "How training's Python is found if there is no container.",
        Environment(),
        unset="the node's `python3`",
    )
    prepare: Prepare = key(None, "Files that the nodes keep for the next start.", Prepare(), unset="nothing")
    code: str | None = key(
        own_path,
        "Shipped to every node; its digest is compared. A relative path begins at the run file's folder.",
        None,
        form="a folder",
    )
    transport: str = key(
        choice(("asyncssh", "openssh")), "`openssh` is for Kerberos and second factors.", "asyncssh"
    )
    same_host: bool = key(
        boolean,
        "Several nodes may be on one machine. A node without an address is then on this machine.",
        False,
    )
    answer_seconds: int = key(
        integer(5, 3600, "number of seconds", 240),
        "The time limit for a node's answer to the check. After that the node counts as unreachable.",
        240,
    )
    network: Network = key(None, "How the ranks find and reach each other.", Network(), unset="all automatic")
    launch: Launch = key(None, "The program that starts the supervisors on the nodes.", Launch(), unset="ssh")
    deepspeed: str = key(
        deepspeed_config,
        "The DeepSpeed configuration: a profile that the planner fills in, or a JSON of your own.",
        "auto",
        form="`auto`, `zero3`, `zero3-offload`, `none`, or a path",
    )
    save: Save = key(None, "The folder and frequency of checkpoints.", Save(), unset="in the run directory")
    env: Mapping[str, str] = key(read_env, "Variables of every rank; values are taken as written.", {})
    secrets: tuple[str, ...] = key(
        listed(text(validate.secret, "such as HF_TOKEN", validate.VARIABLE), "[HF_TOKEN]"),
        "Names of variables, such as `HF_TOKEN`. Their values come from your shell and are never written to a file.",
        (),
        form="a list of names",
    )
    accept: tuple[str, ...] = key(
        listed(text(validate.finding, pattern=validate.FINDING), "[driver-differs]"),
        "Findings that do not stop the run.",
        (),
        form="a list of ids",
    )
    resume: str | None = key(
        resume_from,
        "The checkpoint to continue from: `auto` is the newest verified one; `node:/path` is copied from that machine.",
        None,
        form="`auto`, a path, or `node:/path`",
        unset="from the start",
    )
    alerts: Mapping[str, Any] = key(
        None, "The receivers of findings and of the run's end.", {}, unset="none", section=Alerts
    )
    sweep: Mapping[str, tuple[Any, ...]] = key(
        read_sweep,
        "One run for each combination of values, as the tasks of one job array: with a launcher that has a queue.",
        {},
    )
    model_config: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    lines_in: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()
    text: str = field(default="", repr=False, compare=False)
    typed: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The arguments after `allranks run` that describe this run, if the user typed it there (`spec.typed`)."""
    nodes_known: bool = True
    """False if the launcher chooses the machines (`nodes: 3` with SLURM or Ray): the names and addresses in `cluster`
    are then only placeholders for the node ranks."""

    def without_spares(self) -> Run:
        """The run with only the nodes that train from the beginning."""
        return replace(self, cluster=Cluster(self.cluster.training)) if self.cluster.spares else self

    @property
    def launcher(self) -> launchers.Launcher:
        """The run's launcher. Raises BadInput for an unknown name."""
        return launchers.find(self.launch.with_)

    @property
    def is_here(self) -> bool:
        """Whether the nodes are this machine."""
        return self.launcher.reach == launchers.HERE

    @property
    def on_cpu(self) -> bool:
        """Whether the run file asks for training on CPUs by name: `gpus.model: cpu`, or the trainer's `use_cpu`.

        Nothing else counts as asking. Nodes without a GPU may have a dead driver, or be containers without their
        devices."""
        arguments = self.train.arguments if self.train.kind == "llamafactory" else {}
        asks = any(trainer_yaml.is_on(arguments.get(name)) for name in ("use_cpu", "no_cuda"))
        return self.gpus.model == CPU or asks

    @property
    def cpu_form(self) -> str:
        """The text that a user writes into the run file in order to train on CPUs."""
        if self.train.kind == "llamafactory":
            return "use_cpu: true under train.llamafactory"
        return f"gpus: {{count: {self.gpus.count}, model: cpu}}"

    @property
    def named(self) -> str:
        """The arguments that name this run in a command such as `allranks run`, quoted for a shell."""
        return shlex.join(self.typed) or self.file or "FILE"

    def line(self, key: str) -> int | None:
        """The line of a dotted key, or of the nearest key above it that was written.

        None if that came from `--set`. `where` names the file that the line is in.
        """
        return self.where(key).line

    def here(self, path: str, bare: bool = False) -> str:
        """The absolute path of a path on the nodes that begins with `./` or `../`: it is relative to the run file's
        folder, or to the current one if the keys are from no file. With `bare` that holds for any relative path. Only
        if the nodes are this machine can it be resolved; otherwise, and if it begins with `~`, it stays as written."""
        relative = not path.startswith(("/", "~")) if bare else path.startswith(("./", "../"))
        if relative and self.is_here:
            # Imported here because it also imports urllib and ipaddress, which most readers of a run file do not need.
            from pathlib import Path

            return str((Path(self.file or "run.yaml").resolve().parent / path).resolve())
        return path

    def saved(self, path: str) -> str:
        """A path of `save` or `resume` on the nodes: absolute, or one that begins with `~`. A relative one begins at
        the folder that the ranks start in, if the run file names it. Else it begins at the run file's folder, or the
        current one if the keys are from no file; on other machines at the home of their user, as scp takes it."""
        if path.startswith(("/", "~")) or ":" in path:
            return path
        folder = None if self.code or not self.train.workdir else self.workdir()
        if folder is not None and folder.startswith(("/", "~")):
            return posixpath.normpath(posixpath.join(folder, path))
        found = self.here(path, bare=True)
        return found if found.startswith("/") else "~/" + posixpath.normpath(path)

    def script(self, code: str | None = None) -> list[str]:
        """`train.command` as torchrun starts it: a path, or `-m` and a module, and the arguments. `code` is the folder
        of the shipped code: a relative script is in that folder."""
        program, *words = self.train.command
        if program == "-m":
            return [program, *words]
        return [_below(code, program) if code else self.here(program, bare=True), *words]

    def workdir(self, code: str | None = None) -> str | None:
        """The folder of a node that the ranks start in; None if they start in a folder of the run. `code` as for
        `script`.

        The user's own script starts in its own folder, since it may open files there. A module starts in the folder of
        the code, or else of the run file, as it would if the user started torchrun there by hand."""
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

    def refuse(self, key: str, saw: str, why: str, do: str) -> BadInput:
        """The error that names the place of this key."""
        where = self.where(key)
        return BadInput(Problem(saw, why, do, where.file, where.line))


KEYS: list[Key] = declared(Run)
SECTIONS = {key.name: declared(key.section, f"{key.name}.") for key in KEYS if key.section}
