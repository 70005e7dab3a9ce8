"""A run file's text as a tree; refuses what is not a run file at all."""

from __future__ import annotations

import shlex
from pathlib import Path

from allranks.core import BadInput, Problem
from allranks.spec import text as files
from allranks.spec.hostfile import read_hostfile
from allranks.spec.problems import Problems, refused, shown
from allranks.spec.reading import Reading, described
from allranks.spec.tree import Table
from allranks.spec.yaml12 import parse


def parsed(text: str, reading: Reading) -> Table:
    """The tree of a run file's text. Raises BadInput for what holds no keys."""
    if len(text) > files.MAX_BYTES:
        saw = f"{len(text):,} characters; at most {files.MAX_BYTES:,} are read."
        raise refused(saw, file=reading.label)
    tree = parse(text, reading.label, reading.problems)
    if not isinstance(tree, Table):
        seen = "it is empty." if tree is None else f"this is {described(tree)}, not the run file's keys."
        do = "`allranks init -o run.yaml` writes one that is ready to edit"
        if names_hosts(text):
            seen = "a hostfile, not a run file."
            do = f"`allranks init {shlex.quote(reading.label)} -o run.yaml` writes a run file for its nodes"
        line = None if tree is None else tree.line
        raise BadInput([*reading.problems.all(), Problem(seen, "", do, reading.label, line)])
    return tree


def names_hosts(text: str) -> bool:
    """Whether each line reads as one of a hostfile, with a count, or as a row of a table of hosts."""
    reading = Reading("hostfile", Problems())
    drafts = read_hostfile(text, "hostfile", reading)
    return not reading.problems.found and any(draft.gpus for draft in drafts)


def refuse_trainers_file(tree: Table, reading: Reading) -> None:
    keys = tree.entries
    if "nodes" in keys or "train" in keys or not ("model_name_or_path" in keys or "stage" in keys):
        return
    seen = "model_name_or_path" if "model_name_or_path" in keys else "stage"
    name = Path(reading.label).name if reading.file else "sft.yaml"
    lines = (
        "write run.yaml beside it and start that:",
        "nodes: node[1-2]",
        "gpus: 8",
        f"train: {{llamafactory: {shown(name)}}}",
    )
    raise refused(
        f"a LLaMA-Factory file, not a run file: it has {seen} and no nodes.",
        "it says what to train, not on which machines.",
        "\n         ".join(lines),
        reading.label,
        keys[seen].line,
    )
