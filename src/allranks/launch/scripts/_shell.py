"""The shell files that most targets share: values in `environment.sh` and `arguments.sh`, steps in `common.sh`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allranks.core import Node
from allranks.launch.scripts import _container
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import array, assignment, at_home, bash, line, variable

FOLD = 60
SAFE_FOLDER = r"A-Za-z0-9_./@+,=-"

START = """#!/usr/bin/env bash
# {says}
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")" && pwd -P)
"""

VALUES = "# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154\n"
"""The first line of a file of values. The quotes that keep shells from expanding them are intended."""

SOURCE_COMMON = """# shellcheck source=common.sh
. "$here/common.sh"
"""


def common_files(job: ScriptJob) -> dict[str, File]:
    """The files that every node's script sources, and those that the trainer reads beside them."""
    return {
        "common.sh": File(common(job)),
        "environment.sh": File(environment(job)),
        "arguments.sh": File(arguments(job)),
        **{name: File(text) for name, text in job.files.items()},
    }


def environment(job: ScriptJob) -> str:
    """The variables as words for `env`. bash itself never sets them (it would act on IFS or UID)."""
    words = [assignment(name, value) for name, value in job.common_environment().items()]
    if "/" in job.python and "PATH" not in job.environment(job.nodes[0]):
        # Programs in the folder of the environment's Python come first, as after `activate`.
        folder = at_home(job.python).rpartition("/")[0] or "/"
        words.insert(0, assignment("PATH", f"{folder}:{variable('PATH')}"))
    text = VALUES + "# The ranks' variables, for `env`.\n"
    text += "environment=(\n" + "".join(f"  {word}\n" for word in words) + ")\n"
    own = [(place, job.own_environment(node)) for place, node in enumerate(job.nodes)]
    if any(variables for _, variables in own):
        text += "case $node in\n"
        for place, variables in own:
            if variables:
                values = " ".join(assignment(name, value) for name, value in variables.items())
                text += f"  {place}) environment+=({values}) ;;\n"
        text += "esac\n"
    return text


def arguments(job: ScriptJob) -> str:
    return VALUES + "# What torchrun starts, one word a line.\n" + array("arguments", job.script())


def common(job: ScriptJob) -> str:
    """The steps before training: secrets, the container, modules, the working folder."""
    text = (
        "# shellcheck shell=bash disable=SC2034,SC2154\n"
        "# Sourced by the scripts beside it, which set: here (this folder), self (the script), node (its number).\n"
    )
    text += need_secrets(job)
    if job.container is not None:
        text += _container.wrapper(job, job.container)
        if job.container.pip:
            words = ["-m", "pip", "install", "--quiet", "--", *job.container.pip]
            text += f"{bash(at_home(job.python))} {line(words)}\n"
    text += activation(job)
    if job.workdir is not None:
        text += f"cd -- {bash(at_home(job.workdir))} || exit 2\n"
    return text + '. "$here/environment.sh"\n. "$here/arguments.sh"\n'


def activation(job: ScriptJob) -> str:
    """Environment modules and the script to source. Neither of them expects `set -u`."""
    environment = job.run.environment
    if not environment.modules and environment.activate is None:
        return ""
    text = "set +u\n"
    if environment.modules:
        text += (
            "for file in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh; do\n"
            '  if ! command -v module > /dev/null && [ -r "$file" ]; then . "$file"; fi\n'
            "done\n"
            f"module load {line(environment.modules)}\n"
        )
    if environment.activate is not None:
        # In a function, so that the sourced script does not see this script's arguments.
        text += f"activate() {{ . {bash(at_home(environment.activate))}; }}\nactivate\n"
    return text + "set -u\n"


def start(says: str) -> str:
    return START.format(says=says)


def exec_line(words: Iterable[str]) -> str:
    """`exec WORDS`, with a line break before each option."""
    lines = ["exec"]
    for word in words:
        is_option = word.startswith("-") and " " not in word
        if word == ":" or (is_option and len(lines[-1]) > FOLD):
            lines.append(" ")
        lines[-1] += " " + bash(word)
    return " \\\n".join(lines) + "\n"


def command(words: Sequence[str], together: int = 3) -> str:
    """`exec env VARIABLES WORDS ARGUMENTS`, one word per line after the first `together` (`python -m MODULE`)."""
    lines = [line(words[:together]), *(bash(word) for word in words[together:]), '"${arguments[@]}"']
    return 'exec env -- "${environment[@]}" ' + " \\\n  ".join(lines) + "\n"


def node_says(job: ScriptJob, node: Node, place: int) -> str:
    ranks = [row["rank"] for row in job.plan.ranks if row["node"] == node.name]
    where = node.name if node.name == node.address else f"{node.name} ({node.address})"
    return f"{where}: node {place} of {len(job.nodes)}, ranks {ranks[0]} to {ranks[-1]}."


def node_scripts(job: ScriptJob) -> dict[str, File]:
    """`node-0.sh` …: each starts its node's torchrun."""
    files = {}
    for place, node in enumerate(job.nodes):
        name = f"node-{place}.sh"
        text = start(node_says(job, node, place)) + f"self=$here/{name}\nnode={place}\n{SOURCE_COMMON}\n"
        files[name] = File(text + command(job.torchrun(node)), SCRIPT)
    return files


def known_nodes(job: ScriptJob, target: str) -> None:
    """Raises BadInput for a run whose machines the launcher chooses."""
    if not job.run.nodes_known:
        raise job.run.refuse(
            "nodes",
            f"nodes: {len(job.nodes)} names no machine.",
            f"the files of {target} name every one.",
            "nodes by name, or --render slurm, ray or kubernetes",
        )


def no_sweep(job: ScriptJob, target: str) -> None:
    if job.run.sweep:
        count = len(job.combinations())
        raise job.run.refuse(
            "sweep",
            f"sweep: {count} runs.",
            f"the files of {target} start one.",
            "--render slurm, which writes an array, or leave sweep out",
        )


def one_machine_each(job: ScriptJob, target: str) -> None:
    addresses = [node.address for node in job.nodes]
    twice = next((a for a in addresses if addresses.count(a) > 1), None)
    if job.run.same_host or twice is not None:
        raise job.run.refuse(
            "nodes",
            f"several nodes are one machine{f' ({twice})' if twice else ''}.",
            f"{target} starts one node per machine.",
            "--render torchrun",
        )


def same_gpus(job: ScriptJob, target: str) -> None:
    counts = sorted({node.gpus for node in job.nodes})
    if len(counts) > 1:
        raise job.run.refuse(
            "nodes",
            f"nodes with {counts[0]} and with {counts[-1]} GPUs.",
            f"{target} takes one number for all nodes.",
            "nodes of one size, or --render torchrun",
        )


def no_own_environment(job: ScriptJob, target: str) -> None:
    for node in job.nodes:
        own = job.own_environment(node)
        if own:
            raise job.run.refuse(
                "nodes",
                f"{node.name} has variables of its own: {', '.join(sorted(own))}.",
                f"{target} chooses which machine becomes which node.",
                "the same variables for all nodes in env, or --render torchrun",
            )


def plain_folder(program: str) -> str:
    """Shell lines that refuse a folder whose path a remote shell would split."""
    return (
        f"case $here in *[!{SAFE_FOLDER}]*)\n"
        f'  echo "$here: {program} hands this path to a shell on every node; move the folder to a path of letters,'
        ' digits and _./@+,=- alone." >&2\n'
        "  exit 2 ;;\n"
        "esac\n"
    )


def need_secrets(job: ScriptJob) -> str:
    """Shell lines that stop if a secret is not in the environment."""
    return "".join(
        f': "${{{name}:?export {name} where this is started: its value is not in any file}}"\n'
        for name in job.run.secrets
    )


def send_secrets_says(job: ScriptJob) -> str:
    """The sentence about secrets in README.md."""
    if not job.run.secrets:
        return ""
    return "\nThe secrets go over by ssh's `SendEnv`; each node's sshd must take them (`AcceptEnv` in sshd_config).\n"
