"""SLURM: one job that holds the nodes, and in it one srun that starts a supervisor on each.

`words` makes the job's script and options, `jobs` submits and ends it, `transport` reaches its nodes, `rendering`
writes the sbatch file. Each of them is imported only when it is needed, because a run file may name the launcher
without starting anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from allranks.core import Node
from allranks.launch.launchers.slurm import rendering, words
from allranks.spec.launchers import Launcher


def queue() -> Any:
    from allranks.launch.launchers.slurm import jobs

    return jobs


def reach(node: Node, address: str | None) -> Any:
    from allranks.launch.launchers.slurm.transport import SlurmTransport

    return SlurmTransport(node.name, str(address))


def allocation(environ: Mapping[str, str]) -> tuple[str, int] | None:
    """The node list of the job that these variables belong to, and the GPUs per node (`8`, `a100:8`; 1 if there is no
    number)."""
    names = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    if not names:
        return None
    for name in ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"):
        count = environ.get(name, "").rpartition(":")[2]
        if re.fullmatch(r"[1-9][0-9]{0,2}", count):
            return names, int(count)
    return names, 1


LAUNCHER = Launcher(
    name="slurm",
    says="A job that holds the nodes, or the allocation that allranks runs in; `srun` starts the supervisors.",
    keys=("partition", "account", "time"),
    reach=reach,
    program="srun",
    chooses_nodes=True,
    queue=queue,
    allocation=allocation,
    notices=True,
    command=words.command,
    stays=True,
    runs_here=lambda run: run.launch.inside,
    failures=(
        (r"Permission denied|No space left|Read-only", "the run's folder cannot be written", "ALLRANKS_HOME"),
        (r"srun: error: (?!.*exit)", "it started no supervisor", "read srun's lines below"),
    ),
    render=rendering.render,
)
