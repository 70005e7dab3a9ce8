"""How many machines and ranks the launchers of one command make together."""

from __future__ import annotations

import re

from allranks.spec import launchers
from allranks.spec.commands._command import Command
from allranks.spec.problems import Wrong

CPUS = re.compile(r"^(--cpus-per-task=|-c)(\d{1,6})$")


def settle(command: Command) -> None:
    """`gpus` and `nodes` from what launchers count: machines, ranks of a machine, tasks of an outer launcher."""
    settle_gpus(command)
    settle_tasks(command)
    counts = command.counts
    if "ranks" not in counts:
        ranks = ranks_of_total(command) or visible(command) or counts.get("gpus of a node")
        if ranks is not None:
            counts["ranks"] = ranks
    has = counts.get("gpus of a node")
    if has and "ranks" in counts and counts["ranks"][0] > has[0]:
        command.contradicts(counts["ranks"][1], has[1], "one rank per GPU")
    nodes = command.number("nodes")
    if nodes and "nodes" not in command.keys and chooses(command.keys.get("launch.with")):
        command.put("nodes", nodes, counts["nodes"][1])
    if command.cpu:
        command.keys["gpus"] = {"count": counts.get("ranks", (1, ""))[0], "model": "cpu"}
        command.said["gpus"] = "training on processors"
    elif "ranks" in counts:
        command.put("gpus", *counts["ranks"])


def settle_machines(command: Command) -> None:
    """`--ntasks=32 --ntasks-per-node=8` are four machines."""
    tasks, every = command.number("tasks"), command.counts.get("all tasks")
    if "nodes" not in command.counts and tasks and every and every[0] % tasks == 0:
        command.counts["nodes"] = every[0] // tasks, f"{every[1]}, {command.counts['tasks'][1]}"


def settle_gpus(command: Command) -> None:
    """The GPUs of a node, if SLURM was told those of a task or of the whole job."""
    settle_machines(command)
    counts, machines = command.counts, command.number("nodes") or 1
    if "gpus of a node" in counts:
        return
    if "gpus of all" in counts and counts["gpus of all"][0] % machines == 0:
        counts["gpus of a node"] = counts["gpus of all"][0] // machines, counts["gpus of all"][1]
    elif "gpus of a task" in counts:
        tasks = command.number("tasks") or (command.number("all tasks") or machines) // machines
        counts["gpus of a node"] = counts["gpus of a task"][0] * tasks, counts["gpus of a task"][1]


def settle_tasks(command: Command) -> None:
    """srun's and mpirun's tasks are the ranks, unless a launcher inside starts them: then one per node is right."""
    counts = command.counts
    if not command.launchers:
        for outer, own in (("tasks", "ranks"), ("all tasks", "total")):
            if outer in counts:
                counts.setdefault(own, counts[outer])
        share_cpus(command)
        return
    if (command.number("tasks") or 1) > 1:
        inner = f"{command.launchers[-1]}, which starts the ranks of a node itself"
        command.contradicts(counts["tasks"][1], inner, "one task per node")
    elif "all tasks" in counts:
        command.count("nodes", *counts["all tasks"])


def share_cpus(command: Command) -> None:
    """allranks starts one task per node, so that task gets the CPUs of all ranks there."""
    per = command.number("tasks") or (ranks_of_total(command) or (1, ""))[0]
    words = command.keys.get("launch.extra")
    if per > 1 and isinstance(words, list):
        command.keys["launch.extra"] = [
            CPUS.sub(lambda found: found[1] + str(int(found[2]) * per), str(word)) for word in words
        ]


def ranks_of_total(command: Command) -> tuple[int, str] | None:
    """The ranks of each machine, where all ranks are counted."""
    if "total" not in command.counts:
        return None
    total, said = command.counts["total"]
    named = command.keys.get("nodes")
    machines = len(named) if isinstance(named, list) else command.number("nodes")
    if machines is None:
        return None if named not in (None, "localhost") else (total, said)
    if total % machines:
        raise Wrong(f"{said}: {total} ranks on {machines} machines.", "they do not divide.", "a multiple")
    return total // machines, said


def visible(command: Command) -> tuple[int, str] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves."""
    value = command.env.get("CUDA_VISIBLE_DEVICES", "")
    devices = [one for one in value.split(",") if one.strip()]
    return (len(devices), f"CUDA_VISIBLE_DEVICES={value}") if devices else None


def chooses(launcher: str | None) -> bool:
    """Whether this launcher finds the machines itself, so that their number is enough."""
    return launcher is not None and launchers.find(launcher).chooses_nodes
