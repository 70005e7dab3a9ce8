"""`tune run`: torchtune's command, with torchrun's options before the recipe (0.6, `torchtune/_cli/run.py`)."""

from __future__ import annotations

from allranks.spec.commands import torchrun
from allranks.spec.commands._command import Command, Form
from allranks.spec.problems import Wrong, shown


class Tune(Form):
    def take(self, command: Command) -> None:
        if command.words[1:2] != ["run"]:
            raise Wrong(
                f"tune {shown(' '.join(command.words[1:2]))} starts no training.",
                "of it, `run` starts one.",
                "tune run --nproc_per_node 8 recipe.py --config config.yaml",
            )
        del command.words[1]
        super().take(command)


def read(command: Command) -> None:
    torchrun.no_script(command)
    recipe = command.words[0]
    config = next((v for k, v in zip(command.words, command.words[1:], strict=False) if k == "--config"), "")
    if not recipe.endswith(".py") or not config.endswith((".yaml", ".yml")):
        name = recipe if not recipe.endswith(".py") else config
        raise Wrong(
            f"{shown(name)} is a name that torchtune alone resolves, to a file inside its package.",
            "the ranks start a script.",
            f"tune cp {shown(name)} . and the copy's name",
        )


FORM = Tune(programs=("tune",), options=torchrun.OPTIONS, read=read, ranks=True)
