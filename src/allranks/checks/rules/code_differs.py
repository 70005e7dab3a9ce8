"""A node would run other code than the other nodes.

## How it is found
By digest, on every machine: the Python files of LLaMA-Factory's package, those beside the user's script
(with its JSON and YAML files), and those beside the model, which run with `trust_remote_code`. Of a folder that
allranks ships (`code:`), whether all of it arrived.

## Why it matters
Versions may agree although the code does not: for example a clone that was pulled on only one node, or a patch that was
made by hand on one node. The ranks then take different branches: they wait in different collectives until the time-out,
or train with other settings without an error.

## What to do
Bring the named files to the same state (`git -C FOLDER status`, `git -C FOLDER rev-parse HEAD` on both nodes),
or let allranks ship the folder: `code: FOLDER`. If what was shipped differs, look at that node's disk: a full or
failing one is the usual cause. The next run ships it again.

## Source
SHA-256 of each file, read on the node (`node/facts/code.py`).

Topic: storage
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.checks.context import Context, Findings, View, minority
from allranks.checks.fact_request import trusts_remote_code
from allranks.checks.phrases import listed
from allranks.core import Finding
from allranks.core.text import plural
from allranks.core.untrusted import mapping

ID = "code-differs"
NEEDS = ("code.folders",)
UNKNOWN_BLOCKS = False

CALLED = {"trainer": "LLaMA-Factory", "script": "the script's folder", "model": "the model's own code"}


def applies(context: Context) -> bool:
    return context.on_host and len(context.hosts) > 1


def check(context: Context) -> Findings:
    for part in CALLED:
        if part == "model" and not trusts_remote_code(context.run):
            continue
        found = {view: mapping(view.map("code.folders").get(part)) for view in context.machines}
        digests = {view: one["digest"] for view, one in found.items() if isinstance(one.get("digest"), str)}
        for view, _, usual in minority(digests):
            model = next(one for one in digests if digests[one] == usual)
            yield differing(context, part, view, found[view], model, found[model])


def differing(
    context: Context, part: str, view: View, one: Mapping[str, Any], model: View, usual: Mapping[str, Any]
) -> Finding:
    mine, theirs = mapping(one.get("files")), mapping(usual.get("files"))
    files = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    others = sum(
        mapping(v.map("code.folders").get(part)).get("digest") == usual.get("digest")
        for v in context.machines
    )
    return context.warn(
        view,
        saw=f"{CALLED[part]} on {view.name} ({one.get('folder')}) differs in {plural(len(files), 'file')}: "
        f"{listed(files, 5)}",
        expected=f"the files of {model.name}" + (f" and {others - 1} more" if others > 1 else ""),
        why="ranks that run different code wait in different collectives, or train with other settings.",
        fix=f"compare {one.get('folder')} with that of {model.name}, and bring both to one state",
    )
