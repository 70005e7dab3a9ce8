"""An sbatch file: one task per node, each with its torchrun; a job array for a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from allranks.core import Cluster
from allranks.launch.launchers.slurm import words
from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob, each
from allranks.launch.scripts._phrases import line, matches
from allranks.launch.scripts._readme import readme
from allranks.spec import validate


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.one_machine_each(job, "slurm")
    _shell.same_gpus(job, "slurm")
    _shell.no_own_environment(job, "slurm")
    files = {
        "job.sbatch": File(sbatch(job), SCRIPT),
        "start.sh": File(start(job), SCRIPT),
        **_shell.common_files(job),
    }
    how = (
        "```sh\nsbatch job.sbatch\n```\n\nSubmit from this folder: SLURM runs a copy of job.sbatch, which finds"
        " the rest by the folder it was submitted from. `sbatch --test-only job.sbatch` asks SLURM and submits"
        " nothing.\n"
    )
    if job.run.secrets:
        how += "\nsbatch and srun hand the environment on (`--export=ALL`, their default), and the secrets with it.\n"
    if job.run.sweep:
        files["sweep.sh"] = File(sweep(job))
        how += (
            f"\nAn array of {len(job.combinations())} jobs: sweep.sh lists the arguments of each index. SLURM's own "
            "limit is `MaxArraySize` (1001 by default).\n"
        )
    return {**files, **readme(job, "slurm", how)}


def options(job: ScriptJob) -> list[str]:
    """The #SBATCH lines."""
    run, launch = job.run, job.run.launch
    each(validate.scheduler_word, [word for word in (launch.partition, launch.account) if word is not None])
    each(validate.time_limit, [launch.time] if launch.time is not None else [])
    extra = [quoted(job, word) for word in job.extra("slurm")]
    tasks = len(job.combinations()) if run.sweep else 0
    lines = words.options(replace(run, cluster=Cluster(job.nodes)), job.extra("slurm"), job.uses_gpu, tasks)
    lines.append("--output=%x-%A_%a.log" if tasks else "--output=%x-%j.log")
    return [*lines, " ".join(extra)] if extra else lines


def quoted(job: ScriptJob, word: str) -> str:
    """A word of a #SBATCH line. sbatch splits the line itself, with its own quotes, and `#` begins a comment."""
    if matches(r"[A-Za-z0-9_.,@+:/=%&|*\[\]()-]+", word):
        return word
    if matches(r"[^\x00-\x1f\x7f\"'\\`$]+", word):
        return f'"{word}"'
    raise job.run.refuse(
        "launch.extra",
        f"launch.extra: {word!r}.",
        "a #SBATCH line is one line, and takes no quotes, dollar signs or backslashes inside a word.",
        "that option on the command line of sbatch",
    )


def sbatch(job: ScriptJob) -> str:
    count = len(job.nodes)
    text = "#!/usr/bin/env bash\n" + "".join(f"#SBATCH {option}\n" for option in options(job))
    text += (
        "set -euo pipefail\n"
        "here=${SLURM_SUBMIT_DIR:?this file is for sbatch}\n"
        'if [ ! -f "$here/start.sh" ]; then\n'
        '  echo "$here has no start.sh: submit from the folder of job.sbatch." >&2\n'
        "  exit 2\n"
        "fi\n"
        'hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")\n'
        "head=${hosts%%$'\\n'*}\n"
        f"options=(--nodes={count} --ntasks={count} --ntasks-per-node=1 --kill-on-bad-exit=1 --cpu-bind=none)\n"
        "# Since SLURM 22.05 srun no longer takes this from the job.\n"
        'if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then options+=("--cpus-per-task=$SLURM_CPUS_PER_TASK"); fi\n'
    )
    return text + 'exec srun "${options[@]}" bash "$here/start.sh" "$head"\n'


def start(job: ScriptJob) -> str:
    """The command that srun starts on each node. It keeps its arguments when it starts itself again in a container."""
    text = _shell.start("start.sh HEAD: one node's torchrun, started by srun.") + (
        "self=$here/start.sh\n"
        "head=$1\n"
        "node=${2:-${SLURM_NODEID:?srun starts this}}\n"
        "task=${3:-${SLURM_ARRAY_TASK_ID:-0}}\n"
        'set -- "$head" "$node" "$task"\n'
    )
    text += _shell.SOURCE_COMMON
    if job.run.sweep:
        text += '# shellcheck source=sweep.sh\n. "$here/sweep.sh"\n'
    torchrun = job.torchrun(job.nodes[0], node_rank="node", master_addr="head")
    return text + "\n" + _shell.command(torchrun)


def sweep(job: ScriptJob) -> str:
    text = _shell.VALUES + "# The arguments of each index of the array.\n"
    text += "case $task in\n"
    for index, arguments in enumerate(job.combinations()):
        text += f"  {index}) arguments+=({line(arguments)}) ;;\n"
    return text + '  *) echo "index $task is none of the sweep" >&2; exit 2 ;;\nesac\n'
