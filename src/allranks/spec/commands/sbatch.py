"""`sbatch train.slurm`: the script's `#SBATCH` lines are srun's options, its one training command is the run's."""

from __future__ import annotations

import re
import shlex

from allranks.core import WARN
from allranks.spec.commands import srun
from allranks.spec.commands._command import Command, each, own, refused
from allranks.spec.commands._counting import settle_gpus
from allranks.spec.problems import Wrong, shown

LINE = re.compile(r"^#SBATCH[ \t]+(.*)$", re.MULTILINE)
OPTIONS = {
    **srun.OPTIONS,
    **each("a array", refused("a run trains one thing.", "sweep: {learning_rate: [1e-5, 5e-5]}", takes=1)),
    "wrap": refused("its command is one word.", "the training command itself after `--`", takes=1),
    "requeue": srun.extra(0),
    **each("licenses L switches threads-per-core cluster-constraint M clusters tmp", srun.extra()),
    **each("d dependency open-mode comment get-user-env sockets-per-node S core-spec profile", own()),
    **each("no-requeue parsable hold nice oversubscribe s W bell", own(0)),
}
OF_LOGS = ("o", "output", "e", "error", "i", "input", "open-mode")
"""Options of the job's own log: every script has one, and allranks writes a log for each rank."""

INSIDE = srun.Srun(programs=("#SBATCH",), options=OPTIONS, short=True)


class Sbatch(srun.Srun):
    def take_options(self, command: Command, program: str) -> None:
        """Words on the line, then the script's: as in SLURM, the line wins."""
        super().take_options(command, program)
        if not command.words:
            raise Wrong("sbatch without a script.", do="sbatch train.slurm")
        line = Command([], command.reads, command.follow)
        dropped: list[str] = []
        for text in LINE.findall(command.reads(command.here(command.words[0]))):
            line.words += shlex.split(text, comments=True)
            dropped += not_handed_on(line.words)
            INSIDE.take_options(line, "#SBATCH")
            if line.words:
                raise Wrong(f"#SBATCH {shown(text)} is not an option.", do="one that begins with --")
        if dropped:
            fix = "alerts in the run file for messages" if "--mail" in " ".join(dropped) else ""
            command.left_out(f"#SBATCH {'; '.join(dropped)}", "allranks does not hand it on.", fix)
        extra = [*command.keys.pop("launch.extra", []), *line.keys.pop("launch.extra", [])]
        if extra:
            command.put("launch.extra", extra, "#SBATCH")
        for name, value in line.keys.items():
            if name not in command.keys:
                command.put(name, value, line.said[name])
        for name, counted in line.counts.items():
            command.counts.setdefault(name, counted)
        for name, value in line.env.items():
            command.env.setdefault(name, value)


def not_handed_on(words: list[str]) -> list[str]:
    """The options that SLURM does not get, and that somebody may miss."""
    rest, found = list(words), []
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        name, equals, _ = INSIDE.split(word)
        option = INSIDE.find(name, word, "#SBATCH")
        values = rest[: max(0, option.takes - equals)]
        del rest[: len(values)]
        found += [" ".join((word, *values))] if option.act is None and name not in OF_LOGS else []
    return found


def read(command: Command) -> None:
    path, *arguments = command.words
    command.put("launch.with", "slurm", "sbatch")
    settle_gpus(command)
    asked = dict(command.counts)
    command.follow(command, path, arguments, variables(command))
    is_srun = any(name == "srun" for name in command.words)
    nodes = asked.get("nodes", (1, ""))
    if nodes[0] > 1 and not is_srun:
        command.note(
            "launcher-contradicts",
            WARN,
            f"{nodes[1]}, and no srun before {shown(command.words[0] if command.words else 'the training')}.",
            "the script's command would start on the first node alone, and wait there for the others.",
            "nothing: allranks starts it on each node",
        )


def variables(command: Command) -> dict[str, str]:
    """What SLURM would set for the script, as far as its options say it."""
    found = {"SLURM_SUBMIT_DIR": "."}
    pairs = (
        ("nodes", ("SLURM_NNODES", "SLURM_JOB_NUM_NODES")),
        ("gpus of a node", ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE")),
        ("tasks", ("SLURM_NTASKS_PER_NODE",)),
        ("all tasks", ("SLURM_NTASKS", "SLURM_NPROCS")),
    )
    for what, names in pairs:
        if (number := command.number(what)) is not None:
            found.update(dict.fromkeys(names, str(number)))
    named = {
        "launch.account": "SLURM_JOB_ACCOUNT",
        "launch.partition": "SLURM_JOB_PARTITION",
        "name": "SLURM_JOB_NAME",
    }
    found.update({name: str(command.keys[key]) for key, name in named.items() if key in command.keys})
    for word in command.keys.get("launch.extra", []):
        if match := re.fullmatch(r"(?:--cpus-per-task=|-c)([0-9]+)", word):
            found["SLURM_CPUS_PER_TASK"] = match.group(1)
    return found


FORM = Sbatch(programs=("sbatch",), options=OPTIONS, read=read, short=True)
