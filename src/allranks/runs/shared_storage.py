"""Finds out whether network storage at the same path on several machines is the same storage.

It looks only if two machines or more have network storage at a folder of the run. One node writes a file with a
random name, all others look for it, then it is removed. If the controller dies in between, it leaves a small file
whose text explains it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from allranks.checks.shared_paths import Shared, candidates, with_answers
from allranks.core import Facts, Node, facts_from_json
from allranks.spec import Run
from allranks.transport import NodeProgram, Nodes

SECONDS = 30.0


async def look_again(nodes: Nodes, run: Run, facts: Sequence[Facts]) -> list[Facts]:
    """The facts, with the folders that proved to be on the same storage."""
    looked = candidates(run, facts)
    if not looked:
        return list(facts)
    token = secrets.token_hex(16)
    writers = by_node(looked, lambda one: (one.writer,))
    try:
        written = await asked(nodes, token, "write", writers)
        seen = await asked(nodes, token, "look", by_node(looked, lambda one: one.readers))
    finally:
        await asked(nodes, token, "remove", writers)
    return with_answers(facts, looked, written, seen)


def by_node(looked: Sequence[Shared], whose: Callable[[Shared], Iterable[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in looked:
        for node in whose(one):
            found.setdefault(node, []).append(one.folder)
    return found


async def asked(
    nodes: Nodes, token: str, what: str, folders: Mapping[str, Sequence[str]]
) -> dict[str, Facts]:
    """The answers by node; for a node that can no longer be asked, the reason."""

    async def fetch(node: Node, program: NodeProgram) -> Facts | None:
        if node.name not in folders:
            return None
        nonce = {"token": token, "do": what, "folders": list(folders[node.name])}
        wanted = {"node": node.name, "families": ["shared"], "nonce": nonce}
        return facts_of(node.name, await program.call("facts", stdin=wanted, timeout_seconds=SECONDS))

    answers = {}
    for outcome in await nodes.each(fetch):
        name = outcome.node.name
        if outcome.error is not None:
            answers[name] = Facts(name, 0.0, {}, {"node": str(outcome.error)})
        elif outcome.answer is not None:
            answers[name] = outcome.answer
    return answers


def facts_of(node: str, answer: Mapping[str, Any]) -> Facts:
    """A node's facts. An answer without facts (from another program or a damaged file) counts as a silent node."""
    try:
        return facts_from_json({**answer, "node": node})
    except (TypeError, ValueError) as error:
        return Facts(node, 0.0, {}, {"node": f"its answer holds no facts: {error}"})
