"""The folders that several machines seem to share, and the test of each: one machine writes a nonce, the others look
for it. Pure.

The test is needed only if two machines or more have network storage at the same path. `candidates` names each folder,
its writer and its readers. `with_answers` adds the results to each reader's facts as `shared.folders`:
`{folder: {"writer": node, "done": seen or None, "reason": text}}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from allranks.checks.context import View
from allranks.checks.filesystems import SHARED
from allranks.core import Facts
from allranks.core.untrusted import mapping
from allranks.spec import Run


@dataclass(frozen=True)
class Shared:
    """A folder that the `readers` report at the same path as the `writer`."""

    folder: str
    writer: str
    readers: tuple[str, ...]


def candidates(run: Run, facts: Sequence[Facts]) -> list[Shared]:
    """The folders on shared storage, each once, with one machine that may write there and all other machines as
    readers."""
    by_folder: dict[str, dict[str, Mapping[str, Any]]] = {}
    for view in machines(run, facts):
        for state in view.map("storage.paths").values():
            folder = mapping(state).get("looked_at")
            if isinstance(folder, str) and mapping(state).get("type") in SHARED:
                by_folder.setdefault(folder, {})[view.name] = mapping(state)
    found = []
    for folder, states in sorted(by_folder.items()):
        writer = next((name for name, state in states.items() if state.get("writable") is True), None)
        if writer is not None and len(states) > 1:
            found.append(Shared(folder, writer, tuple(name for name in states if name != writer)))
    return found


def machines(run: Run, facts: Sequence[Facts]) -> Iterable[View]:
    """One node of each machine that answered, in rank order."""
    by_name = {one.node: one for one in facts if "node" not in one.unreadable}
    seen: set[str] = set()
    for node in run.cluster.nodes:
        if node.name in by_name:
            view = View(node, by_name[node.name])
            boot = view.text("system.boot_id") or f"? {node.name}"
            if boot not in seen:
                seen.add(boot)
                yield view


def with_answers(
    facts: Sequence[Facts], looked: Sequence[Shared], written: Mapping[str, Facts], seen: Mapping[str, Facts]
) -> list[Facts]:
    """The facts, with the result for each shared folder added to the facts of its readers. `written` and `seen` are
    the answers to the second round of questions, by node. If the writer could not write, the result is unknown."""
    found: dict[str, dict[str, Any]] = {}
    for one in looked:
        wrote = answer(written, one.writer, one.folder)
        for reader in one.readers:
            said = (
                answer(seen, reader, one.folder)
                if wrote.get("done")
                else {"done": None, **wrote, "by": "writer"}
            )
            found.setdefault(reader, {})[one.folder] = {"writer": one.writer, **said}
    return [
        replace(one, values={**one.values, "shared": {"folders": found[one.node]}})
        if one.node in found
        else one
        for one in facts
    ]


def answer(facts: Mapping[str, Facts], node: str, folder: str) -> dict[str, Any]:
    one = facts.get(node)
    if one is None:
        return {"done": None, "reason": "it was not asked"}
    reason = one.why_unreadable("shared.folders") or one.unreadable.get("node")
    said = mapping(mapping(one.get("shared.folders")).get(folder))
    return dict(said) if said else {"done": None, "reason": reason or "it did not answer"}
