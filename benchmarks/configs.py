"""Configurations from elsewhere: what the installed libraries refuse and accept, against what stops a launch.

    make bench-configs CONFIGS=FOLDER [HALF=seen]

FOLDER holds LLaMA-Factory's YAMLs and DeepSpeed's JSONs, at any depth; which ones were measured stands in
`benchmarks/corpora/`. HALF is `seen` or `unseen`: one half by content, or both if it is not set. PYTHONS names the
environments, with `:` between them; by default this one and `.venvs/legacy`, if that is there. OPTIONAL names a folder
of packages that the environments lack (`pip install --target`): without matplotlib two of three YAMLs are refused for
`plot_loss`, and nothing else in them is tried.

With ONLY_KEPT=1 nothing is asked: the table is made of the answers in `build/configs`.

The other side of the comparison is `_config_reader.py`, which holds nothing of ours; `_config_cases.py` tells what run
becomes of each file.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks import checks
from allranks.checks import fact_request
from allranks.core import Facts
from allranks.node.facts import imports
from allranks.plan import library_trial, make_plan
from benchmarks._config_cases import BASE, HALVES, JSON, SCRIPT, YAML, Case, found
from benchmarks._config_libraries import Libraries, NotAsked

TITLE = "Configurations from elsewhere: refused by the libraries, stopped here"
ON_REQUEST = True

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "build" / "configs"
NAMES = (
    "refused, stopped",
    "refused, silent",
    "accepted, stopped",
    "accepted, silent",
)


def measure() -> str:
    folder = os.environ.get("CONFIGS")
    if not folder:
        return "No configurations: `make bench-configs CONFIGS=FOLDER`."
    rows = ["| half | configurations | libraries | files |" + "".join(f" {name} |" for name in NAMES)]
    rows.append("|---" * (4 + len(NAMES)) + "|")
    trouble: list[str] = []
    kept, unasked = bool(os.environ.get("ONLY_KEPT")), 0
    optional = os.environ.get("OPTIONAL", "")
    for python in pythons():
        with tempfile.TemporaryDirectory() as scratch, Libraries(python, KEPT, optional, kept) as libraries:
            all_cases = list(found(Path(folder), Path(scratch), os.environ.get("HALF")))
            all_cases.sort(key=lambda case: HALVES.index(case.half))
            cases = []
            for case in all_cases:
                with contextlib.suppress(NotAsked):
                    judge(libraries, case)
                    cases.append(case)
                    print(line(case, libraries.versions), flush=True)
            unasked += len(all_cases) - len(cases)
            for half, kind in itertools.product(HALVES, (JSON, SCRIPT, YAML)):
                own = [case for case in cases if (case.half, case.kind) == (half, kind)]
                rows += [row(kind, half, libraries.versions, own)] if own else []
            trouble += [line(case, libraries.versions) for case in cases if not case.agrees]
    rest = f" Not asked: {unasked}." if unasked else ""
    return "\n".join([f"Disagreements: {len(trouble)}.{rest}", "", *rows, "", *trouble])


def line(case: Case, versions: Mapping[str, str]) -> str:
    """A disagreement with its words; of an agreement only which it is."""
    name = f"- {case.half} {case.path.name}"
    if case.agrees:
        return f"{name} ({case.kind}): {'refused' if case.said else 'accepted'} by both"
    said = "accepts it" if case.said is None else f"refuses it (`{short(case.said)}`)"
    here = f"`{short(case.stops[0])}`" if case.stops else "nothing"
    stop = f"allranks stops it: {here}" if case.stops else "allranks does not stop it"
    return f"{name} ({case.kind}; {who(case.kind, versions)}): the library {said}; {stop}"


def short(text: str) -> str:
    return " ".join(text.replace("`", "'").split())[:300]


def who(kind: str, versions: Mapping[str, str]) -> str:
    names = {
        JSON: ("deepspeed", "transformers"),
        SCRIPT: ("deepspeed",),
        YAML: ("llamafactory", "transformers"),
    }
    return ", ".join(f"{name} {versions[name]}" for name in names[kind])


def row(kind: str, half: str, versions: Mapping[str, str], cases: list[Case]) -> str:
    count = collections.Counter((case.said is not None, bool(case.stops)) for case in cases)
    counts = [count[one] for one in ((True, True), (True, False), (False, True), (False, False))]
    return f"| {half} | {kind} | {who(kind, versions)} | {len(cases)} |" + "".join(f" {n} |" for n in counts)


def pythons() -> list[str]:
    legacy = HERE.parent / ".venvs" / "legacy" / "bin" / "python"
    named = os.environ.get("PYTHONS")
    return named.split(":") if named else [sys.executable, *([str(legacy)] if legacy.exists() else [])]


def judge(libraries: Libraries, case: Case) -> None:
    """Fills in what the libraries say and what stops the case."""
    case.said = libraries.read(case.asked, case.content)
    if case.run is None:
        case.stops = [f"the run file: {case.bad}"]
        return
    config = None if case.kind == SCRIPT else case.json
    plan = make_plan(case.run, None, None, deepspeed=config)
    question = imports.asked({"configuration": fact_request.configuration(plan.run, plan)})
    answer = libraries.trial(question) if question else None
    stops = stopping(case, config, libraries.versions, question.get("digest"), answer)
    nobodys = {one.partition(":")[0] for one in stopping_anyway(case, libraries.versions)}
    case.stops = [one for one in stops if one.partition(":")[0] not in nobodys]


def stopping_anyway(case: Case, versions: Mapping[str, str]) -> list[str]:
    """What stops every run here, since no node has said what else is asked of it."""
    assert case.run is not None
    run = case.run
    if case.kind != SCRIPT:
        plain = dataclasses.replace(run.train, arguments={**BASE, "bf16": True})
        run = dataclasses.replace(run, train=plain, deepspeed="none")
    usual = {"refused": False, "skipped": {}}
    simple = dataclasses.replace(case, run=run, json={"train_batch_size": run.cluster.world_size})
    return stopping(simple, None, versions, library_trial.digest(run, None), usual)


def stopping(
    case: Case, config: dict[str, Any] | None, versions: Mapping[str, str], about: Any, answer: Any
) -> list[str]:
    """The findings that stop a launch; what nodes did not say here stops all cases alike."""
    run = case.run
    assert run is not None
    values: dict[str, Any] = {
        "imports": {
            "modules": {"torch": {"seconds": 1.0}},
            "configuration": {"digest": about, "answer": answer},
        },
        "software": {"versions": dict(versions), "python": {"version": "3.11.0", "executable": "python"}},
    }
    texts = {
        path: json.dumps(case.json) for path in fact_request.command_files(run) if path.endswith(".json")
    }
    values["storage"] = {"files": {path: {"exists": True, "text": text} for path, text in texts.items()}}
    facts = [Facts(node.name, 1.0, values) for node in run.cluster.nodes]
    plan = make_plan(run, None, {one.node: one for one in facts}, deepspeed=config)
    findings = [*run.notes, *plan.findings, *checks.judge(facts, plan, run)]
    return sorted({f"{one.id}: {one.saw}"[:400] for one in findings if one.stops_launch})
