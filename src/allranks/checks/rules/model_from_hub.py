"""Every node would download the model.

## What it looks at
A `model_name_or_path` that names a model of the Hub rather than a folder, on a run of several machines.

## Why it matters
Each machine downloads it at the run's start, while the others wait in the first collective for the time-out; what
is on the Hub may change between two nodes' downloads; and a node without a way to the Internet never begins.

## What to do
Download it once (`hf download NAME --local-dir /nfs/models/NAME`), and name the folder. Or fill each node's
HF_HOME ahead, with `HF_HUB_OFFLINE: "1"` and `model_revision`.

## Source
transformers 5.6 `from_pretrained`; huggingface_hub cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.case import fires, silent
from allranks.checks.context import Context
from allranks.words import Finding

UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return context.llamafactory and len(context.hosts) > 1


def check(context: Context) -> Iterator[Finding]:
    name = context.arguments.get("model_name_or_path")
    if isinstance(name, str) and not name.startswith(("/", "~", "./", "../")):
        offline = context.run.env.get("HF_HUB_OFFLINE") == "1"
        say = context.note if offline else context.warn
        yield say(
            "train.llamafactory.model_name_or_path",
            saw=f"{name} is no folder: {len(context.hosts)} machines would take it from the Hub",
            expected="a folder that every node has",
            why="each needs it in its own HF_HOME already, since HF_HUB_OFFLINE is set."
            if offline
            else "each downloads it while the others wait for the time-out.",
            fix=f"hf download {name} --local-dir /a/shared/folder, and name that folder",
        )


CASES = (
    fires("cpu", {"run/train/arguments/model_name_or_path": "Qwen/Qwen3-8B"}, verdict="warn"),
    fires(
        "cpu",
        {"run/train/arguments/model_name_or_path": "Qwen/Qwen3-8B", "run/env/HF_HUB_OFFLINE": "1"},
        verdict="note",
    ),
    silent("cpu"),
    silent("laptop", {"run/train/arguments/model_name_or_path": "Qwen/Qwen3-8B"}),
)
