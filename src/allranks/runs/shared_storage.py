"""A second look at the nodes, where one round trip cannot tell: is network storage of one path one storage?

Only where two machines or more have network storage at a folder of the run. One node writes a file of a random
name, then all others look for it, then it is removed: two round trips and a third whose answer nobody waits long
for. A controller that dies in between leaves a small file that says what it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from allranks.checks.shared_paths import Shared, candidates, with_answers
from allranks.core import Facts, Node, facts_from_json
from allranks.spec import Run
from allranks.transport import NodeProgram, Nodes

SECONDS = 30.0


async def look_again(nodes: Nodes, run: Run, facts: Sequence[Facts]) -> list[Facts]:
    """The facts, and in them which folders on shared storage were seen to be one."""
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


def by_node(looked: Sequence[Shared], whose) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in looked:
        for node in whose(one):
            found.setdefault(node, []).append(one.folder)
    return found


async def asked(
    nodes: Nodes, token: str, what: str, folders: Mapping[str, Sequence[str]]
) -> dict[str, Facts]:
    """The answers by node; of a node that cannot be asked any more, why."""

    async def ask(node: Node, program: NodeProgram) -> Facts | None:
        if node.name not in folders:
            return None
        nonce = {"token": token, "do": what, "folders": list(folders[node.name])}
        wanted = {"node": node.name, "families": ["shared"], "nonce": nonce}
        answer = await program.call("facts", stdin=wanted, timeout_seconds=SECONDS)
        try:
            return facts_from_json({**answer, "node": node.name})
        except (TypeError, ValueError) as error:
            return Facts(node.name, 0.0, {}, {"node": f"its answer holds no facts: {error}"})

    outcomes = await nodes.each(ask)
    unreached = {
        o.node.name: Facts(o.node.name, 0.0, {}, {"node": str(o.error)}) for o in outcomes if o.error
    }
    return {**unreached, **{o.node.name: o.answer for o in outcomes if o.answer is not None}}
