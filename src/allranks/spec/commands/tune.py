"""`tune run`: torchtune's command, with torchrun's options before the recipe (0.6, `torchtune/_cli/run.py`)."""

from __future__ import annotations

from allranks.spec.commands import torchrun
from allranks.spec.commands._command import Command, Form, no_script
from allranks.spec.problems import Wrong, shown


def read(command: Command) -> None:
    if not command.words:
        raise no_script()
    recipe = command.words[0]
    config = next((v for k, v in zip(command.words, command.words[1:], strict=False) if k == "--config"), "")
    if recipe.endswith(".py") and not config:
        raise Wrong(
            f"{shown(recipe)} without --config.",
            "torchtune's recipes take their settings from it.",
            "--config FILE.yaml",
        )
    if not recipe.endswith(".py") or not config.endswith((".yaml", ".yml")):
        name = recipe if not recipe.endswith(".py") else config
        raise Wrong(
            f"{shown(name)} is a name that only torchtune resolves, to a file inside its package.",
            "the ranks start a script.",
            f"tune cp {shown(name)} . and the copy's name",
        )


FORM = Form(
    programs=("tune",),
    options=torchrun.OPTIONS,
    task=("run",),
    example="tune run --nproc_per_node 8 recipe.py --config config.yaml",
    read=read,
    ranks=True,
)
