"""Run where the rig's controller sits: one command on all nodes by allranks or by asyncssh alone; prints JSON.

`_fanout.py allranks|bare|import CONFIG KNOWN_HOSTS NAME=ADDRESS…` → `{"first": seconds, "second": seconds,
"second_cpu": seconds, "answers": N}`; the second call is in the same process, over the connections it keeps. `import`
connects to nothing: what Python and asyncssh cost before the first packet.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

import asyncssh

COMMAND = "hostname"


async def bare(config: str, known_hosts: str, nodes: dict[str, str]) -> dict[str, float]:
    async def one(address: str) -> str:
        async with asyncssh.connect(address, config=[config], known_hosts=known_hosts) as connection:
            return str((await connection.run(COMMAND)).stdout)

    async def all_of_them() -> list[str]:
        return list(await asyncio.gather(*(one(address) for address in nodes.values())))

    return await timed(all_of_them)


async def ours(config: str, known_hosts: str, nodes: dict[str, str]) -> dict[str, float]:
    from allranks.core import Node
    from allranks.transport import NodeProgram, Nodes
    from allranks.transport.ssh import HostKeys, SshTransport

    keys = HostKeys()  # known_hosts is what the configuration names
    described = {name: Node(name, address, rank) for rank, (name, address) in enumerate(nodes.items())}
    programs = {
        n: NodeProgram(SshTransport(node, config=[config], keys=keys)) for n, node in described.items()
    }
    group = Nodes(programs, described)

    async def all_of_them() -> list[str]:
        outcomes = await group.each(lambda _node, program: program.transport.run([COMMAND]))
        return [outcome.answer.out.decode() for outcome in outcomes if outcome.error is None]

    try:
        return await timed(all_of_them)
    finally:
        await group.close()


async def timed(call: Callable[[], Awaitable[list[str]]]) -> dict[str, float]:
    seconds, cpu = [], []
    answers: list[str] = []
    for _ in range(2):
        began, used = time.perf_counter(), time.process_time()
        answers = await call()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    return {
        "first": seconds[0],
        "second": seconds[1],
        "second_cpu": cpu[1],
        "answers": len([one for one in answers if one.strip()]),
    }


def main() -> None:
    how, config, known_hosts, *pairs = sys.argv[1:]
    nodes = dict(pair.split("=", 1) for pair in pairs)
    if how == "import":
        print(json.dumps({"answers": len(nodes)}))
        return
    work = {"bare": bare, "allranks": ours}[how]
    print(json.dumps(asyncio.run(work(config, known_hosts, nodes))))


main()
