"""`checkpoints export`. A Python with torch does the work: this one or another."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from allranks.cli.checkpoint_verbs import local_folder, opened
from allranks.cli.common import print_json, require_ids
from allranks.core import BadInput, Problem, finding_from_json
from allranks.runs.checkpoint_fetch import fetch
from allranks.runs.checkpoint_places import CheckpointPlace

BOOT = """
import json, sys
sys.path[:] = [p for p in sys.path if p] + [sys.argv[1]]
try:
    import torch
except ImportError as error:
    sys.exit("no torch: %s" % error)
from allranks.checkpoints.export import export
said, sys.stdout = sys.stdout, sys.stderr
try:
    answer = export(**json.load(sys.stdin))
except OSError as error:
    answer = {"path": None, "error": "%s: %s" % (error.filename or "export", error.strerror or error)}
said.write(json.dumps(answer))
"""
"""Libraries print to standard error; only the answer is on standard output."""


def export(options: argparse.Namespace) -> int:
    """Exit code 0 only for an export that was proved."""
    from allranks.checkpoints.export import ACCEPTABLE
    from allranks.output.terminal import print_findings

    require_ids("accept", options.accept)
    wrong = sorted(set(options.accept) - set(ACCEPTABLE))
    if wrong:
        do = "only these can be accepted: " + ", ".join(ACCEPTABLE)
        raise BadInput(Problem(f"--accept {wrong[0]}: an export of such an adapter would be wrong", do=do))
    place = opened(options)
    if place.nodes is None:
        answer = run(options, *local_folder(place))
    else:
        with tempfile.TemporaryDirectory(prefix="allranks-export-") as folder:
            asyncio.run(fetched(place, f"{folder}/adapter"))
            answer = run(options, Path(folder, "adapter"), {})
    findings = [finding_from_json(one) for one in answer.get("findings", ())]
    if options.json:
        print_json({**answer, "findings": [f.as_json() for f in findings]})
    else:
        print_findings(findings)
        if answer["path"]:
            proof = next((f.saw for f in findings if f.id == "export-whole"), "")
            print(f"{answer['path']}: {proof}")
    if answer["path"]:
        return 0
    return 1 if any(f.verdict == "block" for f in findings) else 3


async def fetched(place: CheckpointPlace, target: str) -> None:
    try:
        await fetch(place, target)
    finally:
        await place.close()


def run(options: argparse.Namespace, path: Path, expect: dict[str, Any]) -> dict[str, Any]:
    import allranks

    asked = {
        "path": str(path.absolute()), "target": str(Path(options.output).absolute()), "form": options.form,
        "base": str(Path(options.base).absolute()) if options.base else None, "accept": options.accept,
        "most_rank": options.max_lora_rank, "compared": options.compare,
        "expect": {key: value for key, value in expect.items() if key not in ("step", "base_model")},
    }  # fmt: skip
    python, root = options.python or sys.executable, str(Path(allranks.__file__).parent.parent)
    try:
        done = subprocess.run(
            [python, "-c", BOOT, root], input=json.dumps(asked), stdout=subprocess.PIPE,
            stderr=None if options.verbose else subprocess.PIPE, text=True,
        )  # fmt: skip
    except OSError as error:
        raise BadInput(Problem(f"{python} cannot be started: {error.strerror}", do="--python PATH")) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or "").strip().splitlines()
        raise BadInput(
            Problem(
                f"{python} could not export: {said[-1] if said else f'exit code {done.returncode}'}",
                do="--python PATH of the training environment, which has torch",
            )
        ) from None
    if answer.get("error"):
        raise BadInput(Problem(answer["error"], do="look at the disk, or name another folder"))
    return answer
