"""The dataset cannot be found on a node.

## How it is found
On every node: LLaMA-Factory's `dataset_info.json` in `dataset_dir`, whether it names each dataset of the
run, and whether the files that those entries name are there.

## Why it matters
Rank 0 of each node reads and tokenizes the data while the others wait; if it fails, its node ends with
"Undefined dataset" or "File not found" and the others with communication errors.

## What to do
Give `dataset_dir` the folder that holds `dataset_info.json` on every node, and name datasets as they are
named in it.

## Source
LLaMA-Factory 0.9.5 `data/parser.py`: `get_dataset_list`, `data/loader.py`.

Topic: storage
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from allranks.checks.context import Context, Findings
from allranks.checks.fact_request import dataset
from allranks.checks.phrases import listed
from allranks.core.untrusted import listing, mapping

NEEDS = ("storage.dataset",)


def applies(context: Context) -> bool:
    return context.llamafactory and dataset(context.run) is not None


def check(context: Context) -> Findings:
    for view in context.machines:
        found = view.map("storage.dataset")
        for saw, fix in troubles(found) if found else ():
            yield context.block(
                view,
                key="train.llamafactory.dataset",
                saw=f"{saw} on {view.name}",
                expected="every dataset of the run on every node",
                why="this node would end while it reads its data, and the others with communication errors.",
                fix=fix,
            )


def troubles(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    folder = found.get("dir")
    if not found.get("info"):
        default = " (LLaMA-Factory's default, a folder of the working folder)" if folder == "data" else ""
        yield (
            f"{folder}/dataset_info.json{default} is not there",
            "dataset_dir: the folder that holds dataset_info.json",
        )
        return
    if found.get("trouble"):
        yield f"{folder}/dataset_info.json cannot be read: {found['trouble']}", "correct that file"
        return
    known = [str(name) for name in listing(found.get("known"))]
    for name in listing(found.get("unknown")):
        near = get_close_matches(str(name), known, n=1)
        yield (
            f"dataset {name} is not in {folder}/dataset_info.json, which has {listed(known) or 'nothing'}",
            f"dataset: {near[0]}" if near else f"add an entry {name} to {folder}/dataset_info.json",
        )
    for name, entry in mapping(found.get("entries")).items():
        entry = mapping(entry)
        if entry.get("file") and entry.get("exists") is False:
            yield f"the file of dataset {name}, {folder}/{entry['file']}, is not there", "copy it there"
        elif entry.get("file") and entry.get("bytes") == 0:
            yield f"the file of dataset {name}, {folder}/{entry['file']}, is empty", "copy it there again"
