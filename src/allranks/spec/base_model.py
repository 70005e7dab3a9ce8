"""The base model that a run names: by LLaMA-Factory's key, or in the command of a script by the option of that name,
which transformers' own examples and most scripts after them have."""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from allranks.spec.run import Run

SINGLE_FILES = (".bin", ".ckpt", ".gguf", ".pt", ".pth", ".safetensors")


def name_of(run: Run) -> str | None:
    """A path or the id of a model on the Hub. None if the run names none, or if a variable is in it."""
    if run.train.kind == "llamafactory":
        named = run.train.arguments.get("model_name_or_path")
    else:
        named = _option(run.train.command, "--model_name_or_path")
    return named if isinstance(named, str) and named and not re.search(r"[\0{$]", named) else None


def revision_of(run: Run) -> str:
    """The revision of that model on the Hub."""
    if run.train.kind == "llamafactory":
        named = run.train.arguments.get("model_revision") or run.train.arguments.get("revision")
    else:
        named = _option(run.train.command, "--model_revision")
    return str(named or "main")


def folder_of(run: Run) -> str | None:
    """The model's folder in the training environment; None for a model of the Hub. A script's relative path begins at
    its working folder, so that it is known only if the ranks start on this machine."""
    name = name_of(run)
    if name is None or run.train.kind == "llamafactory":
        return name and run.here(name)
    if name.startswith(("/", "~")):
        return None if name.endswith(SINGLE_FILES) else name
    start = run.workdir() if run.is_here else None
    found = Path(start, name) if start else None
    return str(found) if found is not None and found.is_dir() else None


def _option(words: tuple[str, ...], name: str) -> str | None:
    """The value of an option; the last one counts, as argparse has it."""
    found = None
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        given, sign, value = word.partition("=")
        if given == name:
            found = value if sign else following
    return found if found and not found.startswith("-") else None
