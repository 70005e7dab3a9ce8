"""The verb `checkpoints`: verify and prune, for a folder or a run."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from allranks.cli.common import agreed, print_json
from allranks.words import BadInput, Problem


def folder_of(path: str) -> tuple[Path, dict[str, Any]]:
    """A folder as it is, with what its run promised where `path` is a run's id."""
    if Path(path).exists():
        return Path(path), {}
    from allranks.node.paths import RunDirectory, read_json
    from allranks.runs.index import find

    try:
        directory = RunDirectory(asyncio.run(find(path)))
    except BadInput:
        raise BadInput(
            Problem(f"{path} is no folder and no run known here", do="allranks ps lists the runs")
        ) from None
    state = read_json(directory.keeper.state) or {}
    job = next((read_json(str(p)) for p in Path(directory.root).glob("nodes/*/job.json")), None) or {}
    if not state.get("output_dir"):
        raise BadInput(Problem(f"{path} has saved nothing", do=f"allranks logs {path}"))
    return Path(state["output_dir"]), (job.get("keep") or {}).get("adapter") or {}


def verify(options: argparse.Namespace) -> int:
    """Exit code 0 only for a whole adapter, 1 for damage, 3 where it could not be looked at."""
    from allranks import checkpoints
    from allranks.faces.terminal import print_findings
    from allranks.runs.inspect import read_object

    path, expect = folder_of(options.path)
    base = options.base or expect.get("base_model")
    if base:
        expect = {**expect, "base_config": read_object(str(Path(base) / "config.json"))}
    report = checkpoints.verify(str(path), expect)
    if options.json:
        findings = [f.as_json() for f in report.findings]
        print_json(
            {
                "path": str(path),
                "findings": findings,
                "tensors": report.tensors,
                "parameters": report.parameters,
                "step": report.step,
                "whole": report.whole,
            }
        )
    else:
        print_findings(list(report.findings))
        if report.whole:
            print(f"{path}: whole, {report.tensors} tensors, {report.parameters:,} parameters")
    if report.whole:
        return 0
    return 1 if any(f.verdict == "block" for f in report.findings) else 3


def prune(options: argparse.Namespace) -> int:
    """Shows what would go, asks, removes."""
    from allranks import checkpoints

    path, _ = folder_of(options.path)
    first = checkpoints.prune(str(path), options.keep, dry_run=True, vouched=True)
    if not options.json:
        for name in first.removed:
            print(f"{name}")
        print(f"{first.freed_bytes / 2**20:.1f} MiB in {len(first.removed)} files and folders")
    done = first
    if not options.dry_run and first.removed:
        if not agreed("remove them?", options.yes):
            return 1
        done = checkpoints.prune(str(path), options.keep, vouched=True)
    if options.json:
        print_json(
            {
                "path": str(path),
                "removed": list(done.removed),
                "kept": list(done.kept),
                "freed_bytes": done.freed_bytes,
                "refused": list(done.refused),
                "dry_run": options.dry_run,
            }
        )
    return 0
