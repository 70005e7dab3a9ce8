"""SLURM: one job that holds the nodes, and in it one srun that starts a supervisor on each when it is told to.

The job's script waits for a file that names the run directory: facts, preparing and the probe happen in the
allocation before it. The srun is the job's own, so neither the controller's end nor a lost login ends it; the
job ends when the last supervisor has. Tried with SLURM 22.05.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from allranks.launch.engines import Launch
from allranks.spec import Run
from allranks.words import Node

PROGRAM = "srun"
STAYS = True
"""srun ends what is left of a step when the step's own program ends."""

SAYS = (
    (r"Permission denied|No space left|Read-only", "the run's folder cannot be written", "ALLRANKS_HOME"),
)

WAIT_SECONDS = 3600
"""How long the job waits to be told: checks, pulling an image and the probe. A controller that died before it
told the job costs the allocation no longer than this."""

SCRIPT = f"""#!/bin/sh
# allranks: holds the nodes of a run; starts its supervisors when the file below names the run's folder.
go=${{ALLRANKS_HOME:-$HOME/.allranks}}/slurm-$SLURM_JOB_ID.go
waited=0
while [ ! -f "$go" ]; do
  [ "$waited" -lt {WAIT_SECONDS * 2} ] || exit 1
  waited=$((waited + 1)); sleep 0.5
done
run=$(cat "$go"); rm -f "$go"
scontrol update "JobId=$SLURM_JOB_ID" "Comment=allranks:$(basename "$run")" >/dev/null 2>&1
exec srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --overlap \\
  --kill-on-bad-exit=0 --wait=0 --cpu-bind=none --input=none --export=ALL \\
  sh -c 'exec sh "$1/nodes/$SLURMD_NODENAME/start.sh"' sh "$run" >"$run/engine.log" 2>&1
"""


def path_of(node: Node) -> str:
    return f"nodes/{node.name}/start.sh"


def command(launch: Launch) -> list[str]:
    """Tells the waiting job where the run lies; replaced at once, since the job looks for the whole file."""
    head = launch.nodes[0]
    folder = launch.scripts[head.name][: -len(path_of(head)) - 1]
    home = posixpath.dirname(posixpath.dirname(folder))
    go = f"{home}/slurm-{launch.run.launch.address}.go"
    return ["sh", "-c", 'printf %s "$1" >"$2.part" && mv "$2.part" "$2"', "sh", folder, go]


def sbatch(run: Run) -> list[str]:
    """The words that submit the job; its script comes by standard input."""
    launch = run.launch
    words = ["sbatch", "--parsable", f"--job-name={run.name}", f"--nodes={len(run.cluster.nodes)}"]
    words += ["--ntasks-per-node=1", "--output=/dev/null", "--no-requeue"]
    if run.nodes_known:
        # Not folded: SLURM 22.05 takes `a[1-2]b` for no node at all.
        words.append("--nodelist=" + ",".join(node.name for node in run.cluster.nodes))
    words += [f"--partition={launch.partition}"] if launch.partition else []
    words += [f"--account={launch.account}"] if launch.account else []
    words += [f"--time={launch.time}"] if launch.time else []
    return [*words, *sharing(launch.extra), *launch.extra]


def sharing(extra: Sequence[str]) -> list[str]:
    """The whole node unless `launch.extra` says another share: two runs on one would share ports."""
    names = {word.split("=")[0] for word in extra}
    own = [] if names & {"--exclusive", "--oversubscribe", "-s", "--cpus-per-task", "-c"} else ["--exclusive"]
    return own + ([] if names & {"--mem", "--mem-per-cpu", "--mem-per-gpu"} else ["--mem=0"])
