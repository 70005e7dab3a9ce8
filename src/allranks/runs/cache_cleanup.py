"""Removes the nodes' caches of base models that ended runs name (`prepare: {cache: …}`)."""

from __future__ import annotations

from typing import Any

from allranks.core.run_states import FINAL
from allranks.runs import index
from allranks.runs.cleanup import answer_of
from allranks.transport import folded

Caches = dict[str, list[dict[str, Any]]]
"""By run: `{node, path, bytes, kept}`, or `{node, error}`."""


async def caches(name: str | None, dry_run: bool) -> Caches:
    """The content of the caches of all ended runs, or of the named one; without `dry_run` it is removed."""
    runs = await index.all_runs()
    wanted = await index.find(name) if name is not None else None
    found: Caches = {}
    for run in runs:
        run_id = str(run["id"])
        if run.get("state") not in FINAL or wanted not in (None, run_id):
            continue
        words = [run_id, "--cache", *(["--dry-run"] if dry_run else [])]
        async with index.connected(run_id) as nodes:
            outcomes = await nodes.each(lambda _node, program, words=words: program.call("clean", *words))
        rows = []
        for outcome in outcomes:
            answer = answer_of(outcome)
            told = [answer] if "error" in answer else answer.get("caches", ())
            rows += [{**one, "node": outcome.node.name} for one in told]
        if rows:
            found[run_id] = once(rows)
    return found


def once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without folders that are empty."""
    return [row for row in rows if row.get("error") or row.get("bytes") or row.get("kept")]


def lines(found: Caches) -> list[str]:
    """One line for each cache; equal ones of several nodes are one."""
    told = []
    for run_id, rows in found.items():
        said = [(str(row["node"]), describe(row)) for row in rows]
        told += [f"{run_id}  {names}  {text}" for names, text in folded(said)]
    return told


def describe(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"its cache could not be looked at: {row['error']}"
    kept = (
        f"; {len(row['kept'])} files in it stay: in use, or not a part of a base" if row.get("kept") else ""
    )
    return f"{row['path']} ({row['bytes'] / 2**30:,.1f} GiB): parts of base models{kept}"


def failed(found: Caches) -> bool:
    return any("error" in row for rows in found.values() for row in rows)
