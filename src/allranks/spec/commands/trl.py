"""`trl sft …`: TRL's command hands its own and Accelerate's options apart (0.24, `trl/cli.py`)."""

from __future__ import annotations

from allranks.spec.commands import accelerate
from allranks.spec.commands._command import Command, Form, no_training

TASKS = ("sft", "dpo", "grpo", "kto", "reward", "rloo")
OWN = ("gradient_accumulation_steps", "debug", "mixed_precision", "env", "m", "t", "q", "role", "log_dir")
"""Names that a training script takes too: TRL's parser leaves them to the script."""


class Trl(Form):
    def take(self, command: Command) -> None:
        _, *rest = command.words
        if not rest or rest[0] not in TASKS:
            raise no_training("trl", rest[:1], TASKS, "trl sft --config sft.yaml")
        command.launchers.append("trl")
        kept: list[str] = []
        words = rest[1:]
        while words:
            word = words.pop(0)
            name, equals, value = word.removeprefix("--").partition("=")
            option = accelerate.OPTIONS.get(name.replace("_", "-")) if word.startswith("--") else None
            if name == "accelerate_config":
                option = accelerate.OPTIONS["config-file"]
            if option is None or name in OWN:
                kept.append(word)
                continue
            if option.takes and not equals:
                value = words.pop(0) if words else ""
            if option.act is not None:
                option.act(command, value, f"trl --{name} {value}".rstrip())
        command.words = []
        accelerate.read(command)
        command.words = ["-m", f"trl.scripts.{rest[0]}", *kept]


FORM = Trl(programs=("trl",))
