"""The job of each node's supervisor: `job.json`, as docs/architecture.md describes it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from allranks.core import Node, cache_folder, extensions, placeholders
from allranks.launch import render, trackers
from allranks.plan import Plan, families, trainer
from allranks.plan.lora import split
from allranks.plan.vision_parts import parts_of
from allranks.spec import LOCKSTEP, Run
from allranks.worker import lockstep, read_turns

GRACE_SECONDS = 10.0
"""Time from SIGTERM to SIGKILL. torchrun itself waits up to 30 s for its workers, docker stop 10 s, Kubernetes 30 s.
A person who types `stop` does not want to wait longer."""

LEASE_SECONDS = 30.0
"""How long a supervisor works without a message from the keeper. Ray notices a dead node after about 30 s, Kubernetes
after 40 s. With a shorter lease a busy head would stop the run."""

MANY_RANKS = 4000
"""From this number of ranks on, each rank sends a heartbeat every two seconds, because a heartbeat costs the keeper
0.1 to 0.2 ms of a core (`python -m benchmarks keeper_cpu`). A stall may be reported a second later than in smaller
runs."""

DEEPSPEED = "deepspeed.json"
"""The file with DeepSpeed's configuration, beside a node's job or the rendered scripts."""

LEAVING = "leaving"
"""A file in the run directory. It exists if the batch system will soon take the nodes away."""

NOTICED = 'test -e "$1" && exit 0; shift; test $# -gt 0 || exit 1; exec "$@"'
"""The supervisors' notice command: `sh -c NOTICED sh FILE [the user's own command]`."""

JOIN_SECONDS = 60.0
"""How long the keeper waits for one more supervisor. The controller starts 64 at a time, each within 30 s."""


@dataclass(frozen=True)
class NodePaths:
    """Paths on one node: its allranks home, the bundle there, the training environment's Python.

    `code` is the folder of the shipped code, if there is one. The environment's modules and script set `variables`;
    `secrets` are the names of those that must not be written to a file. `user_home` is the home folder of the node's
    user; without it, as in scripts that are only written, paths stay as the run file has them.
    """

    home: str
    bundle: str
    python: str
    code: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    user_home: str | None = None

    def of_saves(self, run: Run, path: str) -> str:
        """A path of `save` or `resume` as this node's programs have it: they start in several folders."""
        if self.user_home is None:
            return run.here(path)
        found = run.saved(path)
        return self.user_home + found[1:] if found == "~" or found.startswith("~/") else found

    def run_directory(self, run_id: str) -> PurePosixPath:
        return PurePosixPath(self.home) / "runs" / run_id

    def logs(self, run_id: str, node: str) -> PurePosixPath:
        return self.run_directory(run_id) / "nodes" / node / "logs"


@dataclass(frozen=True)
class Job:
    """The job of one node."""

    node: Node
    job: Mapping[str, Any]


def beat_seconds(world_size: int) -> float:
    """Seconds between two heartbeats of a rank."""
    return 1.0 if world_size < MANY_RANKS else 2.0


def output_directory(run: Run, run_id: str, places: NodePaths) -> str:
    """The folder for the run's saves: its own folder below `save.to`, or in the run directory. Every run has its own
    folder, so that pruning never finds another run's checkpoints."""
    if run.save.to:
        return str(PurePosixPath(places.of_saves(run, run.save.to)) / run_id)
    return str(places.run_directory(run_id) / "output")


def script(
    run: Run, plan: Plan, output_dir: str, deepspeed: bool, folder: str, code: str | None = None
) -> tuple[list[str], dict[str, str]]:
    """The program that torchrun starts, with its arguments, and the files that it needs in `folder`. With `deepspeed`,
    DeepSpeed's JSON is there too. With shipped `code`, a relative script is in that folder. `{resume}` stays in the
    arguments: the keeper finds the checkpoint on the head."""
    if run.train.kind == "llamafactory":
        path = f"{folder}/{DEEPSPEED}" if deepspeed else None
        arguments = trainer.arguments(run, plan.trainer, output_dir, path)
        words, files = trainer.started(run, arguments, folder)
        return ["-m", "llamafactory.launcher", *words], files
    return placeholders.with_output(run.script(code), output_dir), {}


def make(
    run: Run, plan: Plan, run_id: str, places: Mapping[str, NodePaths], port: int, keeper_port: int = 0
) -> list[Job]:
    """One job per node; the head's job is the first. `places` is by node name; the ports are the head's. If the
    rendezvous `port` is 0, the head's supervisor reserves one."""
    return [
        node_job(run, plan, run_id, node, places[node.name], port, keeper_port) for node in run.cluster.nodes
    ]


def node_job(
    run: Run, plan: Plan, run_id: str, node: Node, places: NodePaths, port: int, keeper_port: int
) -> Job:
    """The job of one node."""
    folder = places.run_directory(run_id) / "nodes" / node.name
    output_dir = output_directory(run, run_id, places)
    uses_deepspeed = plan.deepspeed is not None and run.train.kind == "llamafactory"
    words, files = script(run, plan, output_dir, uses_deepspeed, str(folder), places.code)
    if uses_deepspeed:
        files[DEEPSPEED] = json.dumps(plan.deepspeed, indent=2) + "\n"
    cluster = run.cluster
    env = environment(plan, node, output_dir, places, run_id)
    job: dict[str, Any] = {
        "run_id": run_id,
        "name": run.name,
        "node": node.name,
        "node_rank": node.rank,
        "ranks": [entry["rank"] for entry in plan.ranks if entry["node"] == node.name],
        "world_size": cluster.world_size,
        "rendezvous_port": port,
        "keeper": {"host": cluster.head.address, "port": keeper_port},
        "argv": render.torchrun(places.python, cluster, node, port, words),
        "env": env,
        "secrets": secret_names(run, places, env),
        "cwd": run.workdir(places.code) or str(folder / "work"),
        "cwd_named": run.train.workdir is not None,
        "files": files,
        "inside": places.bundle,
        "grace_seconds": GRACE_SECONDS,
        "notice_seconds": run.save.grace_seconds,
        "notice_command": notice_command(run, str(places.run_directory(run_id))),
        "lease_seconds": LEASE_SECONDS,
        "beat_seconds": beat_seconds(cluster.world_size),
        "restarts": run.launch.restarts,
        "standby": run.launch.standby,
    }
    if words[0].startswith("~"):
        job["script"] = words[0]
    if node.rank == 0:
        job["keep"] = keeping(run, plan, output_dir, places)
    return Job(node, job)


def notice_command(run: Run, run_directory: str) -> list[str]:
    """The command with which each supervisor checks for a notice: the launcher's file first, then the user's own
    command."""
    words = list(run.save.notice)
    if not run.launcher.notices:
        return words
    return ["sh", "-c", NOTICED, "sh", f"{run_directory}/{LEAVING}", *words]


def secret_names(run: Run, places: NodePaths, env: Mapping[str, str]) -> list[str]:
    """The run's secrets, and those of this node's modules and script that the run file does not set."""
    return [*run.secrets, *(name for name in places.secrets if name not in env)]


def environment(
    plan: Plan, node: Node, output_dir: str, places: NodePaths | None = None, run_id: str = ""
) -> dict[str, str]:
    """The ranks' environment on this node: first the variables of its modules, then the plan's for all nodes, then
    the node's own."""
    merged = {
        **trackers.environment(plan.run, output_dir),
        **(places.variables if places else {}),
        **plan.environment.get("all", {}),
        **plan.environment.get("nodes", {}).get(node.name, {}),
    }
    if places and places.code:
        # LLaMA-Factory and most packages keep their modules in src/.
        path = [places.code, str(PurePosixPath(places.code) / "src"), merged.get("PYTHONPATH", "")]
        merged["PYTHONPATH"] = ":".join(str(part) for part in path if part)
    if places and merged.get("NCCL_DEBUG_FILE") and not str(merged["NCCL_DEBUG_FILE"]).startswith("/"):
        # NCCL would write into the script's folder. Among the logs, allranks masks the file, reads it and keeps it.
        merged["NCCL_DEBUG_FILE"] = str(places.logs(run_id, node.name) / str(merged["NCCL_DEBUG_FILE"]))
    if places:
        merged[extensions.CACHE] = str(PurePosixPath(places.home) / "cache")
        if plan.run.train.experts == LOCKSTEP:
            merged[lockstep.VARIABLE] = f"lockstep:{plan.run.train.experts_at_once}"
        merged.update(loading(plan.run))
    merged["ALLRANKS_OUTPUT_DIR"] = output_dir
    return {name: str(value) for name, value in merged.items()}


def loading(run: Run) -> dict[str, str]:
    """The variables by which the ranks know how to read the base model."""
    if run.environment.loader == "stock":
        return {}
    told = {"ALLRANKS_LOADER": run.environment.loader}
    if run.environment.readers is not None:
        told[read_turns.VARIABLE] = str(run.environment.readers)
    if run.prepare.cache is not None:
        told[cache_folder.PATH] = run.prepare.cache
        if run.prepare.cache_limit is not None:
            told[cache_folder.LIMIT] = str(run.prepare.cache_limit)
    return told


def keeping(run: Run, plan: Plan, output_dir: str, places: NodePaths) -> dict[str, Any]:
    """The keeper's part of the job: the nodes that must join, the expected reports of the ranks, and the proofs to
    make."""
    arguments = run.train.arguments
    llamafactory = run.train.kind == "llamafactory"
    return {
        "name": run.name,
        "file": run.file,
        "typed": list(run.typed),
        "nodes": [node.name for node in run.cluster.nodes],
        "places": [
            {"node": node.name, "ranks": [one["rank"] for one in plan.ranks if one["node"] == node.name]}
            for node in run.cluster.training
        ],
        "ranks": list(plan.ranks),
        "join_seconds": JOIN_SECONDS,
        "output_dir": output_dir,
        "keep": run.save.keep,
        "copy_to": places.of_saves(run, run.save.copy_to) if run.save.copy_to else None,
        "script_resumes": placeholders.resumes(run.train.command),
        "resume": run.resume if run.resume in (None, "auto") else places.of_saves(run, run.resume),
        "accept": list(run.accept),
        "alerts": dict(run.alerts),
        "restarts": run.launch.restarts,
        "python": places.python,
        "expect": {
            "world_size": run.cluster.world_size,
            "trainable_parameters": plan.trainable_parameters if llamafactory else None,
            "total_steps": arguments.get("max_steps") if llamafactory else None,
            "ranks": list(plan.ranks),
            "same_host": run.same_host,
            "lease_seconds": LEASE_SECONDS,
        },
        "adapter": adapter(run, plan)
        if llamafactory and arguments.get("finetuning_type") == "lora"
        else None,
    }


def adapter(run: Run, plan: Plan) -> dict[str, Any]:
    """The properties of a whole adapter of this run, for `checkpoints.verify`, and its base model."""
    arguments, target = run.train.arguments, run.train.arguments.get("lora_target")
    return {
        "base_model": run.here(str(arguments.get("model_name_or_path", ""))),
        "rank": arguments.get("lora_rank"),
        "alpha": arguments.get("lora_alpha"),
        "targets": None if _expanded(plan, target) else list(split(target)),
        "trainable_parameters": plan.trainable_parameters,
        "trained": True,
        "regular": plan.model is not None and families.is_described(plan.model.family),
        **tensors(plan),
    }


def _expanded(plan: Plan, target: Any) -> bool:
    """Whether the trainer writes other targets than the user's: of `all`, and of a vision-language model."""
    return target in (None, "all") or (plan.model is not None and parts_of(plan.model) is not None)


def tensors(plan: Plan) -> dict[str, Any]:
    """The shape of every tensor in the adapter, by name; empty if the model is unknown."""
    if plan.trained is None:
        return {}
    shapes = {name: list(shape) for name, shape in plan.trained.tensors}
    return {"shapes": shapes, "tensors": len(shapes)}
