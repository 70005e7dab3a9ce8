"""`litgpt finetune …`: LitGPT takes its devices from its own arguments, and torchrun's ranks if there are any."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, no_training

TASKS = ("finetune", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2", "pretrain")


class LitGPT(Form):
    def take(self, command: Command) -> None:
        _, *rest = command.words
        if not rest or rest[0] not in TASKS:
            raise no_training("litgpt", rest[:1], TASKS, "litgpt finetune_lora MODEL")
        for name, what in (("--devices", "ranks"), ("--num_nodes", "nodes")):
            for at, word in enumerate(rest):
                value = word.partition("=")[2] if "=" in word else rest[at + 1] if at + 1 < len(rest) else ""
                if word.partition("=")[0] == name and value.isdigit():
                    command.count(what, value, f"litgpt {name} {value}")
        command.launchers.append("litgpt")
        command.words = ["-m", "litgpt", *rest]


FORM = LitGPT(programs=("litgpt",))
