"""`swift sft …`: ms-swift's command starts a module of its own for each task (3.x, `swift/cli/main.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form
from allranks.spec.problems import Wrong, shown

TASKS = ("pt", "sft", "rlhf", "eval", "infer")


class Swift(Form):
    def take(self, command: Command) -> None:
        program, *rest = command.words
        if rest[:1] and rest[0] not in TASKS:
            raise Wrong(
                f"swift {shown(rest[0])} starts no training that is known here.",
                f"of it, {', '.join(TASKS[:3])} do.",
                "-m and its module",
            )
        if not rest:
            raise Wrong("swift without a task.", do="swift sft --model …")
        command.launchers.append("swift")
        inner = "swift.cli._megatron" if program == "megatron" else "swift.cli"
        command.words = ["-m", f"{inner}.{rest[0]}", *rest[1:]]


FORM = Swift(programs=("swift", "megatron"))
