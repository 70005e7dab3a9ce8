"""`srun`: SLURM's options become `launch` and `nodes` (SLURM 24.11, srun's manual)."""

from __future__ import annotations

import itertools
import re

from allranks.core import WARN
from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    count,
    each,
    key,
    own,
    refused,
)
from allranks.spec.commands._words import Unknown, str_like
from allranks.spec.names import expanded
from allranks.spec.problems import Wrong, nearest


def nodelist(command: Command, value: str, said: str) -> None:
    if not isinstance(value, Unknown):
        command.put("nodes", expanded(value), said)


def nodes(command: Command, value: str, said: str) -> None:
    low, _, high = value.partition("-")
    command.count("nodes", high or low if not isinstance(value, Unknown) else value, said)


def gpus(command: Command, value: str, said: str, of: str = "a node") -> None:
    """`8`, `a100:8`, and of `--gres` `gpu:a100:8`: the GPUs of a node, of a task or of all, not yet the ranks."""
    number = value.rpartition(":")[2]
    if isinstance(value, Unknown) or not number.isdigit():
        return
    command.counts.setdefault(f"gpus of {of}", (int(number), said))


def gpus_of(what: str) -> Option:
    return Option(1, lambda command, value, said: gpus(command, value, said, what))


def hand_on(command: Command, word: str) -> None:
    """Gives the word to SLURM as it is."""
    command.keys.setdefault("launch.extra", []).append(word)
    command.said.setdefault("launch.extra", "srun's options")


def gres(command: Command, value: str, said: str) -> None:
    for one in value.split(","):
        if one.startswith("gpu"):
            gpus(command, value if isinstance(value, Unknown) else one, said)
        else:
            hand_on(command, f"--gres={one}")


def extra(takes: int = 1) -> Option:
    """An option of the allocation that SLURM gets as it is written."""

    def act(command: Command, value: str, said: str) -> None:
        if isinstance(value, Unknown):
            return
        _, word, *rest = said.split(" ", 2)
        long = f"{word}={rest[0]}" if rest and word.startswith("--") else "".join((word, *rest))
        hand_on(command, long)

    return Option(takes, act)


def exported(command: Command, value: str, said: str) -> None:
    """`ALL,A=1`: variables that are named with a value."""
    for one in value.split(","):
        name, equals, given = one.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            command.variable(name, str_like(value, given), said)


PYXIS = "the run file has keys for the container."
OPTIONS = {
    **each("N nodes", Option(1, nodes)),
    **each("n ntasks", count("all tasks")),
    **each("ntasks-per-node tasks-per-node", count("tasks")),
    "gpus-per-node": Option(1, gpus),
    "gres": Option(1, gres),
    **each("w nodelist", Option(1, nodelist)),
    **each("p partition", key("launch.partition")),
    **each("A account", key("launch.account")),
    **each("t time", key("launch.time")),
    **each("J job-name", key("name")),
    **each("chdir D", key("train.workdir")),
    "export": Option(1, exported),
    "exclusive": extra(0),
    **each("q qos C constraint x exclude c cpus-per-task cpus-per-gpu", extra()),
    **each("mem mem-per-cpu mem-per-gpu reservation begin gres-flags time-min tmp wckey prefer", extra()),
    **each("ntasks-per-core ntasks-per-socket threads-per-core licenses L core-spec S switches", extra()),
    "contiguous": extra(0),
    **each("prolog epilog task-prolog task-epilog propagate gpu-freq profile relative r export-file", own()),
    "gpus-per-task": gpus_of("a task"),
    **each("gpus G", gpus_of("all")),
    **each("ntasks-per-gpu signal comment o output e error i input jobid", own()),
    **each("K kill-on-bad-exit W wait cpu-bind gpu-bind mem-bind distribution m hint mpi accel-bind", own()),
    **each("network mail-type mail-user", own()),
    **each("l label u unbuffered overlap immediate I pty v verbose quiet Q no-kill", own(0)),
    **each("container-image container-name image", refused(PYXIS, "container: {image: …}", takes=1)),
    "container-mounts": refused(PYXIS, "container: {mounts: […]}", takes=1),
    "container-workdir": refused(PYXIS, "train: {workdir: …}", takes=1),
}
GLUED = ("kill-on-bad-exit", "exclusive", "I", "K", "W")
"""Options whose value may be left out; if it is given, it follows `=`."""


class Srun(Form):
    def find(self, name: str, word: str, program: str) -> Option:
        # A site's own plugins add options: with their value in the same word they can be handed on.
        is_site = word.startswith("--") and "=" in word and nearest(name, self.options) is None
        option = extra() if is_site else super().find(name, word, program)
        if option.takes and "=" not in word and name in GLUED:
            return Option(0, option.act, option.why)
        return option


def read(command: Command) -> None:
    if not command.words:
        raise Wrong("srun without a command.", do="srun … torchrun train.py")
    command.put("launch.with", "slurm", "srun")


def warn_of_ranks(command: Command) -> None:
    """`--launcher slurm` of OpenMMLab's scripts (mmengine `dist/utils.py`) reads SLURM's rank, not torchrun's."""
    words = command.words
    if "--launcher=slurm" in words or ("--launcher", "slurm") in itertools.pairwise(words):
        command.note(
            "launcher-contradicts",
            WARN,
            "--launcher slurm: the script would take its rank from SLURM_PROCID.",
            "torchrun starts the ranks and sets RANK; SLURM starts one task for each node.",
            "--launcher pytorch",
        )


FORM = Srun(programs=("srun",), options=OPTIONS, read=read, short=True)
