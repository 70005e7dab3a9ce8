"""The verb `checkpoints`: verify, prune, list and fetch, for a folder, `node:/path` or a run."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.cli.common import agreed, print_json
from allranks.core import BadInput, Finding, Problem, finding_from_json
from allranks.core.text import plural, spelt_out
from allranks.runs.checkpoint_places import CheckpointPlace, of_text


def opened(options: argparse.Namespace, file: bool = False) -> CheckpointPlace:
    """The place that the arguments name. With `file` it may be a file."""
    from allranks.runs.node_targets import Access

    return of_text(options.path, Access(accept_new_hosts=options.accept_new_hosts), file)


async def asked(place: CheckpointPlace, what: str, **more: Any) -> dict[str, Any]:
    try:
        return await place.on_node(what, **more)
    finally:
        await place.close()


def findings_of(answer: Mapping[str, Any]) -> list[Finding]:
    return [finding_from_json(one) for one in answer.get("findings") or ()]


def local_folder(place: CheckpointPlace, newest: bool = False) -> tuple[Path, dict[str, Any]]:
    """The folder of a place on this machine, and the properties that its run promised. With `newest`, the newest save
    of a script. Raises BadInput."""
    from allranks.checkpoints import node_verbs

    folder, expect = (node_verbs.to_verify if newest else node_verbs.place)(place.request)
    return Path(folder), expect


def verify(options: argparse.Namespace) -> int:
    """Exit code 0 only for a whole checkpoint, 1 for damage, 3 if it could not be read."""
    from allranks.output.terminal import print_findings

    place = opened(options, file=True)
    if place.nodes is not None and options.base:
        do = f"allranks checkpoints fetch {options.path} TO, and verify TO with --base"
        raise BadInput(
            Problem("--base is a folder of this machine, but the adapter is on another one", do=do)
        )
    report = (
        verified_here(place, options.base) if place.nodes is None else asyncio.run(asked(place, "verify"))
    )
    findings = findings_of(report)
    if options.json:
        where = {"node": place.node} if place.nodes is not None else {}
        keys = ("path", "tensors", "parameters", "step", "whole", "kind", "can_resume")
        said = {**where, **{key: report.get(key) for key in keys}}
        print_json({**said, "findings": [f.as_json() for f in findings]})
    else:
        print_findings(findings)
        if report["whole"]:
            print(spelt_out(whole_text(report, place.node)))
    if report["whole"] is True:
        return 0
    return 1 if any(f.verdict == "block" for f in findings) else 3


def whole_text(report: Mapping[str, Any], node: str | None) -> str:
    path = f"{node}:{report['path']}" if node else report["path"]
    if report["kind"] == "adapter":
        return f"{path}: whole, {report['tensors']} tensors, {report['parameters']:,} parameters"
    return f"{path}: {report['title']}, whole as far as its files show: {report['text']}"


def verified_here(place: CheckpointPlace, base: str | None) -> dict[str, Any]:
    from allranks import checkpoints
    from allranks.plan import families
    from allranks.runs.inspection import read_object

    path, expect = local_folder(place, newest=True)
    base = base or expect.get("base_model")
    if base:
        config = read_object(str(Path(base) / "config.json"))
        regular = families.is_described((config or {}).get("model_type"))
        expect = {**expect, "base_config": config, "regular": regular}
    return checkpoints.verify(str(path), expect).as_json()


def prune(options: argparse.Namespace) -> int:
    """Shows the files to remove, asks, removes them. Exit code 1 if something was refused, or if no checkpoint there
    is whole."""
    from allranks.output.terminal import print_findings

    place = opened(options)
    first = asyncio.run(asked(place, "prune", keep=options.keep, dry_run=True))
    if not options.json:
        for name in first["removed"]:
            print(spelt_out(str(name)))
        print(f"{first['freed_bytes'] / 2**20:.1f} MiB in {len(first['removed'])} files and folders")
    done = first
    if not options.dry_run and first["removed"]:
        if not agreed("remove them?", options.yes):
            return 1
        done = asyncio.run(asked(place, "prune", keep=options.keep, dry_run=False))
    findings = findings_of(done)
    if not options.json:
        print_findings(findings)
    else:
        keys = ("removed", "kept", "freed_bytes", "refused")
        told = {"path": options.path, **{key: done.get(key) for key in keys}}
        print_json({**told, "findings": [f.as_json() for f in findings], "dry_run": options.dry_run})
    return 1 if findings else 0


# ---- list and fetch ----


def listed(options: argparse.Namespace) -> int:
    """Exit code 0 if at least one checkpoint is whole, or with --quick if at least one exists; otherwise 1."""
    from allranks.output.checkpoint_table import print_checkpoints

    place = opened(options)
    told = asyncio.run(asked(place, "list", quick=options.quick))
    if options.json:
        print_json({"node": place.node, **told})
    else:
        print_checkpoints(told, place.node)
    usable = [one for one in told["checkpoints"] if options.quick or one.get("whole")]
    return 0 if usable else 1


def fetched(options: argparse.Namespace) -> int:
    """Exit code 0 only if the copy has the digests of the source and its final name."""
    from allranks.output.checkpoint_table import progress
    from allranks.output.report_text import size
    from allranks.runs.checkpoint_fetch import fetch

    place = opened(options, file=True)

    async def work():
        try:
            with progress(quiet=options.json) as heard:
                return await fetch(place, options.to, options.step, heard)
        finally:
            await place.close()

    done = asyncio.run(work())
    if options.json:
        print_json(done.as_json())
        return 0
    kept = f", {size(done.kept_bytes)} were here from an earlier try" if done.kept_bytes else ""
    print(spelt_out(done.target))
    note = "" if done.whole else " The files are the source's; whether the checkpoint is whole is not known."
    print(
        f"{plural(done.files, 'file')}, {size(done.copied_bytes)} copied{kept}, every SHA-256 compared.{note}",
        file=sys.stderr,
    )
    return 0
