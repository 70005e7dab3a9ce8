"""SLURM: one job that holds the nodes, and in it one srun that starts a supervisor on each.

The job's script waits for a file that names the run directory. Checks, preparation and probe happen in the allocation
before that. The srun belongs to the job, so neither the controller's end nor a lost login ends it; the job ends with
the last supervisor. In an existing allocation (`salloc`, the user's own `sbatch`) the srun is started from this
machine, in a separate session, and lives as long as the allocation.

Before its end SLURM sends SIGUSR1 to the job's script. A signal to a step would go to all its processes, including
the ranks, and would end those that do not handle it. So the script leaves a file that the supervisors look for, and
the ranks save as after any other notice. Tested with SLURM 22.05.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from allranks.launch.jobs import LEAVING
from allranks.launch.starting import Start, limit_seconds, without_secrets
from allranks.spec import Run, slurm_list

WAIT_SECONDS = 3600
"""How long the job waits for the file: checks, pulling an image and the probe. If the controller dies before that,
the allocation is not held for longer than this."""

SIGNAL_SECONDS = 60
"""Added to `save.grace_seconds`: SLURM may look at a job's time only once a minute (sbatch(1), --signal)."""

FORGET = tuple(
    f"SLURM_{name}"
    for name in (
        "CPUS_PER_TASK", "TRES_PER_TASK", "GPUS", "GPUS_PER_TASK", "NTASKS_PER_GPU", "CPUS_PER_GPU", "GPU_BIND",
        "TRES_BIND", "CPU_BIND", "DISTRIBUTION", "HINT",
    )
)  # fmt: skip
"""Options of the user's job that srun would take from its environment (srun(1), INPUT ENVIRONMENT VARIABLES): they are
meant for one task per GPU, and allranks starts one task per node, which needs all that the job has there."""

WITHOUT = ("env", *(word for name in ("SRUN_CPUS_PER_TASK", *FORGET) for word in ("-u", name)))

STEP = f"""\
{" ".join(WITHOUT)} \\
  srun --jobid="$SLURM_JOB_ID" --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --nodelist="$names" --overlap \\
  --no-kill --kill-on-bad-exit=0 --wait=0 --cpu-bind=none --input=none --export=ALL \\
  sh -c 'exec sh "$1/nodes/$SLURMD_NODENAME/start.sh"' sh "$run" >"$run/engine.log" 2>&1 &
step=$!
"""

SCRIPT = f"""#!/bin/sh
# allranks: holds the nodes of a run; starts its supervisors when the file below names the run's folder.
home=${{ALLRANKS_HOME:-$HOME/.allranks}}
go=$home/slurm-$SLURM_JOB_ID.go
run=
leave() {{
  if [ -n "$run" ]; then : >"$run/{LEAVING}"; fi
  if [ -f "$home/slurm-$SLURM_JOB_ID.run" ]; then : >"$(cat "$home/slurm-$SLURM_JOB_ID.run")/{LEAVING}"; fi
}}
trap leave USR1
trap : TERM
until_end() {{ # a signal interrupts wait
  while :; do wait "$1"; code=$?; kill -0 "$1" 2>/dev/null || exit "$code"; done
}}
%s
waited=0
while [ ! -f "$go" ]; do
  [ "$waited" -lt {WAIT_SECONDS * 5} ] || exit 1
  waited=$((waited + 1)); sleep 0.2
done
run=$(cat "$go"); rm -f "$go"
# The number of one task of an array is the array's, and would rename the others.
mine=$SLURM_JOB_ID
if [ -n "${{SLURM_ARRAY_TASK_ID:-}}" ]; then mine=${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID; fi
scontrol update "JobId=$mine" "Comment=allranks:$(basename "$run")" >/dev/null 2>&1
nodes=$SLURM_JOB_NUM_NODES names=$SLURM_JOB_NODELIST
{STEP}until_end "$step"
"""

AGAIN = """\
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
  # Requeued: nobody may be there to tell it anything, so allranks itself runs here.
  rm -f "$go" "$home/slurm-$SLURM_JOB_ID.run"
  case "${SLURM_ARRAY_TASK_ID:-0}" in
%s
  esac
  "$@" >>"$home/slurm-$SLURM_JOB_ID.log" 2>&1 &
  until_end "$!"
fi
"""

INSIDE = f"""
SLURM_JOB_ID=$1 run=$2 home=$3 nodes=$4 names=$5 before=$6 head=$7
export SLURM_JOB_ID
printf %s "$run" >"$home/slurm-$SLURM_JOB_ID.run"
{STEP}# The end may be moved, so it is asked for; once in a minute, by one process.
while kill -0 "$step" 2>/dev/null; do
  at=$(squeue -h -r -j "$SLURM_JOB_ID" -o "%A %e" 2>/dev/null | sed -n "s/^$SLURM_JOB_ID //p")
  at=$(test -n "$at" && date -d "$at" +%s 2>/dev/null) || at=
  if [ -n "$at" ] && [ "$(($(date +%s) + before))" -ge "$at" ]; then : >"$run/{LEAVING}"; fi
  turns=0
  while [ "$turns" -lt 60 ] && kill -0 "$step" 2>/dev/null; do turns=$((turns + 1)); sleep 1; done
done
rm -f "$home/slurm-$SLURM_JOB_ID.run"
"""
"""For an existing allocation. It is detached, since its user may log out."""

BEGIN = """
setsid sh -c "$1" sh "$2" "$3" "$4" "$5" "$6" "$7" "$8" </dev/null >/dev/null 2>&1 &
turns=0
until [ -e "$3/nodes/$8/supervisor.json" ] || [ "$turns" -ge 45 ]; do
  turns=$((turns + 1)); sleep 1
  if grep -q "srun: error" "$3/engine.log" 2>/dev/null; then cat "$3/engine.log"; exit 1; fi
done
"""


def command(start: Start) -> list[str]:
    """Writes the file that the waiting job looks for, in one step. In an existing allocation it starts the step."""
    head, run = start.nodes[0], start.run
    folder = start.folder()
    home = posixpath.dirname(posixpath.dirname(folder))
    job = str(run.launch.address)
    if run.launch.inside:
        names = slurm_list(node.name for node in start.nodes)
        words = [job, folder, home, str(len(start.nodes)), names, str(notice_seconds(run)), head.name]
        # srun passes its environment to the nodes.
        return [*without_secrets(run), "sh", "-c", BEGIN, "sh", INSIDE, *words]
    go = f"{home}/slurm-{job}.go"
    return ["sh", "-c", 'printf %s "$1" >"$2.part" && mv "$2.part" "$2"', "sh", folder, go]


def script(again: Sequence[Sequence[str]] = ()) -> str:
    """The job's script. `again` are the commands that continue a run in a requeued job, one per task of an array."""
    cases = "\n".join(f"  {index}) set -- {shlex.join(words)} ;;" for index, words in enumerate(again))
    return SCRIPT % (AGAIN % cases if again else "")


def notice_seconds(run: Run) -> int:
    """How long before its end a job gets the notice: at most a quarter of a short job's time."""
    wanted = run.save.grace_seconds + SIGNAL_SECONDS
    limit = limit_seconds(run.launch.time)
    return wanted if limit is None else min(wanted, limit // 4)


def sbatch(run: Run, run_id: str, gpus: bool = False, requeue: bool = False, tasks: int = 0) -> list[str]:
    """The command that submits the job. Its script comes by standard input. `gpus` adds `--gres`; `tasks` > 0 makes
    an array."""
    extra = run.launch.extra
    words = ["sbatch", "--parsable", *options(run, extra, gpus, tasks), "--output=/dev/null", "--no-kill"]
    words.append("--requeue" if requeue else "--no-requeue")
    if run.save.grace_seconds and "--signal" not in names_of(extra):
        words.append(f"--signal=B:USR1@{notice_seconds(run)}")
    # The comment comes last, so that `extra` cannot change it.
    return [*words, *extra, f"--comment=allranks:{run_id}"]


def options(run: Run, extra: Sequence[str], gpus: bool, tasks: int = 0) -> list[str]:
    """The options of a job, submitted or rendered. `tasks` > 0 makes an array; `extra` comes later, and wins."""
    launch, own = run.launch, names_of(extra)
    words = [f"--job-name={run.name}", f"--nodes={len(run.cluster.nodes)}", "--ntasks-per-node=1"]
    words += [f"--array=0-{tasks - 1}"] if tasks else []
    if run.nodes_known and run.launcher.queue is not None:
        words.append("--nodelist=" + slurm_list(node.name for node in run.cluster.nodes))
    words += [f"--partition={launch.partition}"] if launch.partition else []
    words += [f"--account={launch.account}"] if launch.account else []
    words += [f"--time={launch.time}"] if launch.time else []
    if gpus and not own & GPUS:
        words.append(f"--gres=gpu:{max(node.gpus for node in run.cluster.nodes)}")
    # Without the whole node a task has one CPU, and two runs on one node would share ports.
    words += [] if own & SHARES else ["--exclusive"]
    return words + ([] if own & MEMORY else ["--mem=0"])


GPUS = {"--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task"}
SHARES = {"--cpus-per-task", "-c", "--cpus-per-gpu", "--exclusive", "--oversubscribe", "-s", "--overcommit"}
MEMORY = {"--mem", "--mem-per-cpu", "--mem-per-gpu"}


def names_of(extra: Sequence[str]) -> set[str]:
    return {word.split("=")[0] for word in extra}
