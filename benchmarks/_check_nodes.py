"""Run where the rig's controller sits: asks nodes for their facts over SSH, judges them, prints the seconds."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from allranks import checks, spec
from allranks.core import Facts, Node, facts_from_json
from allranks.plan import make_plan
from allranks.transport import NodeProgram
from allranks.transport.nodes import Nodes
from allranks.transport.ssh import HostKeys, SshTransport

RUN = """
name: bench
nodes: {%s}
environment: {python: %s}
gpus: {model: cpu}
train: {command: [/opt/train.py]}
"""


async def asked(wanted: dict, run: spec.Run) -> list[Facts]:
    keys = HostKeys()
    nodes = {node.name: node for node in run.cluster.nodes}
    programs = {
        name: NodeProgram(SshTransport(node, "root", config=[wanted["config"]], keys=keys))
        for name, node in nodes.items()
    }
    requests = checks.request(run, make_plan(run))
    for request in requests.values():
        request["imports"] = ["torch", "deepspeed", "transformers", "peft"] if wanted.get("deep") else []
        request["libraries"] = False

    async def ask(node: Node, program: NodeProgram) -> Facts:
        answer = await program.call("facts", stdin=requests[node.name], timeout_seconds=240)
        return facts_from_json({**answer, "node": node.name})

    reached = Nodes(programs, nodes)
    outcomes = await reached.each(ask)
    await reached.close()
    return [o.answer or Facts(o.node.name, 0.0, {}, {"node": str(o.error)}) for o in outcomes]


def main() -> None:
    wanted = json.load(sys.stdin)
    nodes = ", ".join(f"{node['name']}: {node['address']}" for node in wanted["nodes"])
    begin = time.perf_counter()
    run = spec.loads(RUN % (nodes, sys.executable))
    facts = asyncio.run(asked(wanted, run))
    checks.judge(facts, make_plan(run), run)
    seconds = time.perf_counter() - begin
    unreadable = {one.node: one.unreadable["node"] for one in facts if "node" in one.unreadable}
    print(json.dumps({"seconds": seconds, "unreadable": unreadable}))


if __name__ == "__main__":
    main()
