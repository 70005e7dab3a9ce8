"""LLaMA-Factory in a command: `llamafactory-cli train x.yaml`, or its arguments after one of its scripts.

They become `train.llamafactory`, so that they are planned and checked as its YAML is (LLaMA-Factory 0.9.5,
`hparams/parser.py`; values as transformers' HfArgumentParser takes them).
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from allranks.core import NOTE
from allranks.spec.commands._command import Command, Form, no_training
from allranks.spec.commands._words import Home, Pattern, Unknown
from allranks.spec.problems import Wrong, shown

SCRIPTS = ("train.py", "train_bash.py", "launcher.py")
"""LLaMA-Factory's own scripts: in `src/` of its repository, and in its package the one that its command starts with
torchrun."""

OWN = ("stage", "finetuning_type", "template", "lora_target", "dataset")
"""Arguments that no other program has together."""

V1 = "llamafactory.v1.launcher"
V1_TRAINS = ("train", "sft", "rm")
"""The training commands of version 1 (`USE_V1=1`) in LLaMA-Factory 0.9.5. Its arguments differ from version 0's."""

V1_KEYS = frozenset(
    (
        "model_class",
        "init_config",
        "peft_config",
        "kernel_config",
        "quant_config",
        "dist_config",
        "train_dataset",
    )
)
"""Arguments of version 1 (0.9.5, `v1/config/*_args.py`) that version 0 does not have."""

MODULES = ("llamafactory.launcher", "llamafactory.cli", "llamafactory.train.tuner", "llmtuner.launcher")


def arguments(words: list[str]) -> dict[str, Any]:
    """`--key value`, `--key=value`, `--flag` and `--key a b` as a mapping. Raises Wrong for a word that is not an
    argument, and LookupError for a value that allranks cannot resolve."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not re.match(r"--[A-Za-z]", word):
            raise Wrong(f"{shown(word)} is not an argument of LLaMA-Factory.", do="--name value, or its YAML")
        name, equals, value = word[2:].partition("=")
        values = [value] if equals else []
        while not equals and rest and not re.match(r"--[A-Za-z]", rest[0]):
            values.append(rest.pop(0))
        if any(isinstance(one, Pattern | Unknown) for one in (word, *values)):
            raise LookupError(*(one for one in (word, *values, *rest) if isinstance(one, Pattern | Unknown)))
        for one in values:
            if isinstance(one, Home):
                raise LookupError(Unknown(one, "~"))
        found[name.replace("-", "_")] = True if not values else values[0] if len(values) == 1 else values
    return found


def train(command: Command, rest: list[str]) -> None:
    """Reads the rest of a command that is LLaMA-Factory's."""
    if not rest:
        raise Wrong(
            "it names no YAML and no arguments.", "LLaMA-Factory would not know what to train.", "x.yaml"
        )
    first = rest[0]
    if first.endswith((".yaml", ".yml", ".json")):
        command.trainer = command.here(first)
        for word in rest[1:]:
            name, equals, value = word.lstrip("-").partition("=")
            if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise Wrong(
                    f"{shown(word)} after the YAML.", "LLaMA-Factory takes key=value there.", "key=value"
                )
            command.changes[name] = value
    else:
        command.trainer = arguments(rest)
    command.words = []


def recognized(words: list[str]) -> list[str] | None:
    """The arguments of LLaMA-Factory's own script or module; None for another's."""
    if words[:1] == ["-m"]:
        return words[2:] if len(words) > 1 and words[1] in MODULES else None
    if not words or posixpath.basename(words[0]) not in SCRIPTS:
        return None
    if words[0].endswith("src/train.py") and len(words) == 2 and words[1].endswith((".yaml", ".yml")):
        return words[1:]
    names = {word[2:].partition("=")[0].replace("-", "_") for word in words[1:] if word.startswith("--")}
    return words[1:] if "stage" in names and len(names & set(OWN)) > 1 else None


def settle(command: Command) -> None:
    """Takes the arguments of LLaMA-Factory's own script as those of a run file."""
    rest = recognized(command.words)
    if rest is None:
        return
    script = command.words[0]
    if script != "-m":
        command.note(
            "launcher-dropped",
            NOTE,
            f"{shown(script)} is LLaMA-Factory's own: its module llamafactory.launcher is started.",
            "so the model, the LoRA targets and the memory are planned and checked.",
            "LLaMA-Factory in the environment (pip install -e .), or code: its folder",
        )
    train(command, rest)


class LlamaFactory(Form):
    def take(self, command: Command) -> None:
        command.launchers.append("llamafactory-cli")
        program, *rest = command.words
        if posixpath.basename(program) not in MODULES:
            if command.env.get("USE_V1", "0").lower() in ("1", "true", "y") and rest and rest[0] in V1_TRAINS:
                command.words = ["-m", V1, *rest]
                return
            if rest[:1] != ["train"]:
                raise no_training(program, rest[:1], ["train"], "llamafactory-cli train sft.yaml")
            rest = rest[1:]
        train(command, rest)


FORM = LlamaFactory(programs=("llamafactory-cli", "lmf", "llamafactory"), modules=MODULES)
