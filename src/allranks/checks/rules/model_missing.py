"""The model is not there, or not whole, or not the same on all nodes.

## How it is found
The model's folder, by `model_name_or_path` or by a script's option of that name, on every node: whether it exists and
has its `config.json`. Each file of the safetensors index must exist and have the length that its header gives. Names
and sizes must agree between nodes.

## Why it matters
Every rank reads the model's files. One node without a shard ends the run after minutes of loading; another
model of the same name on one node trains garbage without an error.

## What to do
Copy the model there again (`rsync -a --checksum`), or put it on storage that all nodes mount.

## Source
transformers 5.6 `modeling_utils.py` (shards by the index); the safetensors format (8 bytes of header
length, the header, the tensors up to the largest data offset).

Topic: storage
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from allranks.checks.context import Context, Findings, View, minority
from allranks.checks.fact_request import model as folder
from allranks.checks.fact_request import model_key
from allranks.checks.phrases import listed
from allranks.core.text import plural
from allranks.core.untrusted import listing, mapping

NEEDS = ("storage.model",)


def applies(context: Context) -> bool:
    return folder(context.run) is not None


def check(context: Context) -> Findings:
    whole: list[View] = []
    for view in context.machines:
        model = view.map("storage.model")
        if not model:
            continue
        trouble = list(troubles(model))
        if not trouble:
            whole.append(view)
        for saw in trouble:
            # A script may make the weights itself, or take a single file.
            say = context.block if context.llamafactory or not model.get("exists") else context.warn
            yield say(
                view,
                key=model_key(context.run),
                saw=f"{model.get('path')} on {view.name} {saw}",
                expected="the whole model on every node",
                why="this node's ranks would end while loading, and all others with them.",
                fix=f"copy the model to {view.name} again, or mount the storage that holds it",
            )
    yield from differing(context, whole)


def troubles(model: Mapping[str, Any]) -> Iterator[str]:
    if not model.get("exists"):
        yield "is not there"
        return
    if model.get("config") is None:
        yield f"has no usable config.json: {model.get('config_trouble')}"
    if model.get("index_trouble"):
        yield f"has an index that cannot be read: {model['index_trouble']}"
    missing, short = listing(model.get("missing")), listing(model.get("cut_short"))
    if missing:
        yield f"lacks {len(missing)} of {model.get('shards')} shards: {listed(missing, 4)}"
    if short:
        yield (
            f"holds {plural(len(short), 'file')} that {'is' if len(short) == 1 else 'are'} cut short: "
            + listed(short, 4)
        )
    if not model.get("index") and not any(is_weights(name) for name in mapping(model.get("files"))):
        yield "holds no weights"


def is_weights(name: str) -> bool:
    return name.endswith((".safetensors", ".bin", ".pt", ".gguf"))


def differing(context: Context, views: list[View]) -> Findings:
    sizes = {
        view: {n: s for n, s in sorted(view.map("storage.model.files").items()) if decides(n)}
        for view in views
    }
    for view, mine, usual in minority(sizes):
        usual_name = next(one.name for one in views if sizes[one] == usual)
        odd = sorted(n for n in {*mine, *usual} if mine.get(n) != usual.get(n))
        yield context.block(
            view,
            key=model_key(context.run),
            saw=f"the model on {view.name} differs from {usual_name}'s in {plural(len(odd), 'file')}: "
            + listed((f"{n} ({mine.get(n, 'none')} for {usual.get(n, 'none')} bytes)" for n in odd), 3),
            expected="files of the same names and sizes on every node",
            why="each rank loads its node's files: the run would train a mixture, without an error.",
            fix=f"copy the model from {usual_name} to {view.name} again",
        )


def decides(name: str) -> bool:
    """Whether the file is part of the model: weights, configuration or tokenizer, not notes or caches."""
    return name.endswith(
        (".safetensors", ".bin", ".json", ".model", ".txt", ".py", ".jinja")
    ) and not name.startswith(".")
