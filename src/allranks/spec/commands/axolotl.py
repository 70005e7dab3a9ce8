"""`axolotl train config.yml`: its module, and the options of the launcher that it would start (0.12, `axolotl/cli`)."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form
from allranks.spec.problems import Wrong, shown


class Axolotl(Form):
    def take(self, command: Command) -> None:
        _, *rest = command.words
        if rest[:1] != ["train"]:
            raise Wrong(
                f"axolotl {shown(' '.join(rest[:1]))} starts no training.",
                "of it, `train` starts one; `preprocess` runs once, before.",
                "axolotl train config.yml",
            )
        words = rest[1:]
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
        # What stands behind its own `--` are the launcher's options.
        command.words = [*self.start(launcher), *words, *module] if launcher != "python" else module

    def start(self, launcher: str) -> list[str]:
        if launcher not in ("torchrun", "accelerate"):
            raise Wrong(f"axolotl --launcher {shown(launcher)}.", "no such launcher is known.", "torchrun")
        return ["torchrun"] if launcher == "torchrun" else ["accelerate", "launch"]


FORM = Axolotl(programs=("axolotl",))
