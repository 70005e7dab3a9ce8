"""The input of every target: the run's words and variables, checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from allranks.core import Node, placeholders
from allranks.core.net import over_there
from allranks.launch import jobs, render, trackers
from allranks.launch.jobs import NodePaths
from allranks.launch.scripts._phrases import HERE, TASK, at_home, matches, plain, refuse, variable
from allranks.launch.starting import Start
from allranks.plan import Plan, trainer
from allranks.plan.deepspeed import is_profile
from allranks.spec import Container, Run, validate
from allranks.spec.problems import Wrong

SCRIPT, TEXT = 0o755, 0o644
OURS = ("output_dir", "deepspeed", "do_train")
"""Arguments that the scripts themselves set: a sweep over them would mix up its runs."""
GATHER = "stage3_gather_16bit_weights_on_model_save"


@dataclass(frozen=True)
class File:
    text: str
    mode: int = TEXT


@dataclass(frozen=True)
class ScriptJob:
    """A run, its plan, and the Python of the training environment on the nodes."""

    run: Run
    plan: Plan
    python: str

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.run.cluster.training

    @property
    def uses_gpu(self) -> bool:
        return any(row["gpu"] is not None for row in self.plan.ranks)

    @property
    def container(self) -> Container | None:
        container = self.run.container
        return None if container is None or container.engine == "none" else container

    @property
    def places(self) -> NodePaths:
        return NodePaths(home=HERE, bundle="", python=self.python)

    @property
    def output_dir(self) -> str:
        """The folder for the run's saves. Each combination of a sweep has its own folder."""
        name = f"{self.run.name}-{TASK}" if self.run.sweep else self.run.name
        return jobs.output_directory(self.run, name, self.places)

    @property
    def deepspeed(self) -> str | None:
        """The text of deepspeed.json, if the run has one."""
        if self.plan.deepspeed is None or self.run.train.kind != "llamafactory":
            return None
        config = dict(self.plan.deepspeed)
        if self.gathers_at_save:
            config["zero_optimization"] = {**config["zero_optimization"], GATHER: True}
        return json.dumps(config, indent=2) + "\n"

    @property
    def gathers_at_save(self) -> bool:
        """Whether the trainer's own save must gather the weights. allranks' save does not need that.

        Without gathering, transformers 4 writes an adapter of 40 bytes without a tensor under ZeRO-3. The user's own
        JSON does not change.
        """
        zero = (self.plan.deepspeed or {}).get("zero_optimization") or {}
        return is_profile(self.run.deepspeed) and zero.get("stage") == 3

    @property
    def files(self) -> dict[str, str]:
        """The files beside the scripts that the trainer reads, by name."""
        found = {} if self.deepspeed is None else {jobs.DEEPSPEED: self.deepspeed}
        return {**found, **self._script()[1]}

    def script(self) -> list[str]:
        """The program that torchrun starts, with its arguments, as in allranks' own job."""
        whole, _ = self._script()
        resume = None if self.run.resume in (None, "auto") else self.run.resume
        first, *words = placeholders.with_resume(whole, resume)
        return [at_home(first), *words]

    def _script(self) -> tuple[list[str], dict[str, str]]:
        run = self.run
        if run.sweep and run.train.kind == "llamafactory":
            kept = {k: v for k, v in run.train.arguments.items() if k not in run.sweep}
            run = replace(run, train=replace(run.train, arguments=kept))
        if over_there(run.resume) is not None:
            why = "a script brings no files from other machines."
            raise run.refuse(
                "resume", f"resume: {run.resume} is on another machine", why, "a path of the nodes"
            )
        return jobs.script(run, self.plan, self.output_dir, self.deepspeed is not None, HERE, run.code)

    @property
    def workdir(self) -> str | None:
        """The folder that the ranks start in; None for the current folder of the scripts."""
        if self.run.train.kind == "llamafactory" and not self.run.train.workdir:
            return self.run.code
        return self.run.workdir(self.run.code)

    def combinations(self) -> list[list[str]]:
        """The arguments of each combination of a sweep, in the order of the indices."""
        names = list(self.run.sweep)
        return [
            trainer.swept(self.run, dict(zip(names, values, strict=True)))
            for values in product(*(self.run.sweep[name] for name in names))
        ]

    def torchrun(self, node: Node, **at_run_time: str) -> list[str]:
        """One node's torchrun without its script; `node_rank="rank"` takes that option from `$rank`."""
        words = render.torchrun(
            at_home(self.python), self.run.cluster, node, self.run.network.rendezvous_port, []
        )
        for option, name in at_run_time.items():
            start = f"--{option.replace('_', '-')}="
            words = [start + variable(name) if word.startswith(start) else word for word in words]
        return words

    def start(self, program: str) -> Start:
        """The start of every node's script by this launcher."""
        scripts = {node.name: f"{HERE}/node-{place}.sh" for place, node in enumerate(self.nodes)}
        run = self.run
        return Start(run, self.plan, scripts, self.nodes, program, "bash", run.secrets, self.extra(program))

    def extra(self, target: str) -> tuple[str, ...]:
        """`launch.extra`, which is meant for the launcher in `launch.with`."""
        return self.run.launch.extra if self.run.launch.with_ == target else ()

    def environment(self, node: Node) -> dict[str, str]:
        """The variables that the ranks on this node get in addition to those that they inherit."""
        return jobs.environment(self.plan, node, self.output_dir)

    def common_environment(self) -> dict[str, str]:
        """The variables that are the same on every node."""
        first, *others = [self.environment(node) for node in self.nodes]
        return {n: v for n, v in first.items() if all(other.get(n) == v for other in others)}

    def own_environment(self, node: Node) -> dict[str, str]:
        """The variables of this node alone."""
        common = self.common_environment()
        return {n: v for n, v in self.environment(node).items() if n not in common}


def checked(job: ScriptJob) -> ScriptJob:
    """The job, if all its names are valid and all its values can be passed on. Raises BadInput."""
    run = job.run
    each(validate.name, [run.name, *(node.name for node in job.nodes)])
    each(validate.host, [node.address for node in job.nodes])
    each(validate.user, [user for user in (run.user, *(n.user for n in job.nodes)) if user is not None])
    each(validate.module, run.environment.modules)
    each(validate.secret, run.secrets)
    each(validate.path, [p for p in (job.python, run.environment.activate, run.code, run.save.to) if p])
    if "=" in job.python:
        raise refuse(
            f"{job.python} holds an equals sign.", "env would read it as a variable.", "a path without it"
        )
    ours = trackers.environment(run, job.output_dir)
    for node in job.nodes:
        for name, value in job.environment(node).items():
            if not matches(validate.VARIABLE, name):
                raise refuse(f"{name!r} is not a valid name for a variable.", "", "letters, digits and `_`")
            # allranks' own values may contain the mark of the scripts' folder.
            if name != "ALLRANKS_OUTPUT_DIR" and ours.get(name) != value:
                plain(value, f"the variable {name}")
    for word in walk([run.train.arguments, run.train.command, run.sweep, run.launch.extra]):
        plain(word, "an argument")
    for name in run.sweep:
        if not matches(r"[A-Za-z_][A-Za-z0-9_.-]*", name) or name in OURS:
            raise job.run.refuse(
                "sweep",
                f"sweep: {name!r} cannot be swept.",
                "it must be the name of an argument of training, without dashes, that the scripts do not set.",
                "such as learning_rate",
            )
    return job


def each(check: Callable[[str], object], values: Iterable[str]) -> None:
    for value in values:
        try:
            check(value)
        except Wrong as wrong:
            raise refuse(wrong.saw, wrong.why, wrong.do) from None


def walk(value: Any) -> Iterable[str]:
    """Every text in nested values, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from walk(item)
