"""Flux: one `flux run` on the head (or in the current allocation), one task per node.

Flux orders nodes itself, so each task finds its place among the run's nodes by its host name, which is the node's
name in the run file. The job holds whole nodes as long as the supervisors are its children. `flux run` only watches
the job, in a separate session, so neither the controller's end nor a lost login ends the job. The job has the run's
name. Options: flux-run(1) of flux-core 0.88.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._readme import readme
from allranks.launch.starting import Start, limit_seconds, numbered_path, without_secrets
from allranks.spec.launchers import Launcher

PICK = """\
run=$1 script=$2 own=$(hostname) place=0
shift 2
for name; do
  case $own in "$name"|"$name".*) exec "$run" "${script%%%n*}$place.sh" ;; esac
  place=$((place + 1))
done
echo "$own: no node of the run has this name" >&2
exit 1
"""
"""Each task runs `sh -c PICK sh SHELL SCRIPT NAME…`; `%n` in SCRIPT stands for the node's place."""

BEGIN = """\
folder=$1 head=$2
shift 2
setsid "$@" >"$folder/engine.log" 2>&1 </dev/null &
turns=0
until [ -e "$folder/nodes/$head/supervisor.json" ] || [ "$turns" -ge 45 ]; do
  turns=$((turns + 1)); sleep 1
  if ! kill -0 "$!" 2>/dev/null; then cat "$folder/engine.log"; exit 1; fi
done
"""
"""Starts `flux run` detached, and waits until the head's supervisor has started or the job has ended."""


def command(start: Start) -> list[str]:
    begin = ["sh", "-c", BEGIN, "sh", start.folder(), start.nodes[0].name]
    return [*without_secrets(start.run), *begin, *flux_run(start)]


def flux_run(start: Start) -> list[str]:
    """The command of the job: whole nodes, and one task on each with all cores and GPUs."""
    launch, count = start.run.launch, len(start.nodes)
    names = [node.name for node in start.nodes]
    words = [
        "flux",
        "run",
        f"--job-name={start.run.name}",
        f"--nodes={count}",
        f"--ntasks={count}",
        "--exclusive",
    ]
    words += [f"--requires=host:{','.join(names)}", "--label-io"]
    words += ["--setopt=cpu-affinity=off", "--setopt=gpu-affinity=off", "--setopt=exit-timeout=none"]
    words += [f"--queue={launch.partition}"] if launch.partition else []
    words += [f"--bank={launch.account}"] if launch.account else []
    limit = limit_seconds(launch.time)
    words += [f"--time-limit={limit}s"] if limit is not None else []
    return [*words, *start.extra, "sh", "-c", PICK, "sh", start.shell, start.numbered_script(), *names]


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "flux")
    _shell.no_sweep(job, "flux")
    _shell.one_machine_each(job, "flux")
    how = (
        "```sh\n./flux.sh\n```\n\nStart it where `flux resource list` shows the nodes: on a node of the cluster, or in"
        " a shell of `flux alloc`. The nodes' names must be their host names. Ctrl-C twice cancels the job, as"
        " `flux cancel` does.\n"
    )
    if job.run.secrets:
        how += (
            "\nflux run hands the environment on, and the secrets with it. Flux keeps them with the job: who owns the"
            " job or the instance can read them.\n"
        )
    text = _shell.start("flux run: the script of each node, one task per node.") + _shell.need_secrets(job)
    # Without allranks, only this ends the other nodes if one fails.
    begin = job.start("flux")
    words = flux_run(replace(begin, extra=("--setopt=exit-on-error", *begin.extra)))
    text += "# Each task's own shell expands the variables.\n# shellcheck disable=SC2016\n"
    return {
        "flux.sh": File(text + _shell.exec_line(words), SCRIPT),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
        **readme(job, "Flux", how),
    }


def allocation(environ: Mapping[str, str]) -> bool:
    """Whether a process with these variables is in a Flux allocation. If so, `flux run` is started there."""
    return bool(re.match(r"(local|ssh)://", environ.get("FLUX_URI", "")))


LAUNCHER = Launcher(
    name="flux",
    says="`flux run` on the head, or in the Flux allocation that allranks runs in.",
    keys=("partition", "account", "time"),
    program="flux",
    packages={"RedHat": ("flux-core",)},
    command=command,
    script_path=numbered_path,
    stays=True,
    runs_here=lambda run: allocation(os.environ),
    failures=(
        (
            r"^flux(-\w+)?: (ERROR|error): .*connect",
            "no Flux instance answers",
            "start it where flux resource list works",
        ),
        (
            r"unsatisfiable|no node of the run has this name",
            "Flux has no such nodes",
            "flux resource list shows them",
        ),
        (r"^flux(-\w+)?: (ERROR|error)", "it refused the job", "flux jobs -a shows it"),
        (r"job\.exception", "the job was ended", "flux jobs -a shows it"),
        (
            r"Permission denied|No such file|No space left",
            "the run's folder cannot be used there",
            "ALLRANKS_HOME",
        ),
    ),
    render=render,
)
