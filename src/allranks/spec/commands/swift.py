"""`swift sft …`: ms-swift's command starts a module of its own for each task (3.x, `swift/cli/main.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, no_training

TASKS = ("pt", "sft", "rlhf", "eval", "infer")


class Swift(Form):
    def take(self, command: Command) -> None:
        program, *rest = command.words
        if not rest or rest[0] not in TASKS:
            raise no_training(
                "swift", rest[:1], TASKS[:3], "swift sft --model …, or -m and the task's module"
            )
        command.launchers.append("swift")
        inner = "swift.cli._megatron" if program == "megatron" else "swift.cli"
        command.words = ["-m", f"{inner}.{rest[0]}", *rest[1:]]


FORM = Swift(programs=("swift", "megatron"))
