"""The verb `checkpoints`: verify and prune, for a folder or a run."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from allranks.cli.common import agreed, print_json
from allranks.core import BadInput, Problem


def folder_of(path: str, file: bool = False) -> tuple[Path, dict[str, Any]]:
    """A folder as it is, or with `file` a file, with what its run promised where `path` is a run's id."""
    if path and (Path(path).is_dir() or (file and Path(path).is_file())):
        return Path(path), {}
    if path and Path(path).exists():
        raise BadInput(Problem(f"{path} is a file", do="the folder of the checkpoint, or of all of a run"))
    from allranks.node.paths import read_json
    from allranks.runs.index import directory_here, find

    try:
        run_id = asyncio.run(find(path))
    except BadInput as error:
        if not path:
            raise
        raise BadInput(
            Problem(f"{path} is no folder and no run known here", do="allranks ps lists the runs")
        ) from error
    directory = directory_here(run_id)
    state = read_json(directory.keeper.state) or {}
    job = next((read_json(str(p)) for p in Path(directory.root).glob("nodes/*/job.json")), None) or {}
    if not state.get("output_dir"):
        raise BadInput(Problem(f"{path} has saved nothing", do=f"allranks logs {path}"))
    return Path(state["output_dir"]), (job.get("keep") or {}).get("adapter") or {}


def verify(options: argparse.Namespace) -> int:
    """Exit code 0 only for a whole checkpoint, 1 for damage, 3 where it could not be looked at."""
    from allranks import checkpoints
    from allranks.output.terminal import print_findings
    from allranks.plan import families
    from allranks.runs.inspection import read_object

    path, expect = folder_of(options.path, file=True)
    base = options.base or expect.get("base_model")
    if base:
        config = read_object(str(Path(base) / "config.json"))
        regular = families.is_described((config or {}).get("model_type"))
        expect = {**expect, "base_config": config, "regular": regular}
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
                "kind": report.kind,
                "can_resume": report.can_resume,
            }
        )
    else:
        print_findings(list(report.findings))
        if report.whole and report.kind == "adapter":
            print(f"{path}: whole, {report.tensors} tensors, {report.parameters:,} parameters")
        elif report.whole:
            print(f"{path}: {report.title}, whole as far as its files tell: {report.text}")
    if report.whole:
        return 0
    return 1 if any(f.verdict == "block" for f in report.findings) else 3


def prune(options: argparse.Namespace) -> int:
    """Shows what would go, asks, removes. Exit code 1 where something was refused, or nothing there is whole."""
    from allranks import checkpoints
    from allranks.output.terminal import print_findings

    path, expect = folder_of(options.path)
    first = checkpoints.prune(str(path), options.keep, expect=expect, dry_run=True, vouched=True)
    if not options.json:
        for name in first.removed:
            print(f"{name}")
        print(f"{first.freed_bytes / 2**20:.1f} MiB in {len(first.removed)} files and folders")
    done = first
    if not options.dry_run and first.removed:
        if not agreed("remove them?", options.yes):
            return 1
        done = checkpoints.prune(str(path), options.keep, expect=expect, vouched=True)
    if not options.json:
        print_findings(list(done.findings))
    else:
        print_json(
            {
                "path": str(path),
                "removed": list(done.removed),
                "kept": list(done.kept),
                "freed_bytes": done.freed_bytes,
                "refused": list(done.refused),
                "findings": [finding.as_json() for finding in done.findings],
                "dry_run": options.dry_run,
            }
        )
    return 1 if done.findings else 0
