"""`axolotl train config.yml`: its module, and the options of the launcher that it would start (0.12, `axolotl/cli`)."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, no_training
from allranks.spec.problems import Wrong, shown


class Axolotl(Form):
    def take(self, command: Command) -> None:
        _, *words = command.words
        if words[:1] != ["train"]:
            raise no_training("axolotl", words[:1], ["train"], "axolotl train config.yml")
        del words[0]
        launcher = "accelerate"
        kept: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                break
            name, equals, value = word.partition("=")
            if name == "--launcher":
                launcher = value if equals else words.pop(0) if words else ""
            elif name not in ("--accelerate", "--no-accelerate", "--cloud"):
                kept.append(word)
        module = ["-m", "axolotl.cli.train", *kept]
        # The words after its own `--` are the launcher's options.
        command.words = [*self.start(launcher), *words, *module] if launcher != "python" else module

    def start(self, launcher: str) -> list[str]:
        if launcher not in ("torchrun", "accelerate"):
            raise Wrong(f"axolotl --launcher {shown(launcher)}.", "no such launcher is known.", "torchrun")
        return ["torchrun"] if launcher == "torchrun" else ["accelerate", "launch"]


FORM = Axolotl(programs=("axolotl",))
