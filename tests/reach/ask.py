"""Run inside the rig's controller namespace: asks nodes for `hostname` over SSH, prints JSON per node."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from allranks.reach.base import Unreachable
from allranks.reach.ssh import HostKeys, SshTransport
from allranks.words import Node


async def ask(node: Node, keys: HostKeys, config: str, argv: list[str]) -> dict:
    transport = SshTransport(node, config=[config], keys=keys)
    begin = time.monotonic()
    try:
        done = await transport.run(argv, stdin=b"in\n", timeout_seconds=20)
        answer = {"out": done.out.decode(), "code": done.code}
    except Unreachable as error:
        answer = {"cause": error.cause, "text": error.text}
    finally:
        await transport.close()
    return {**answer, "node": node.name, "seconds": time.monotonic() - begin}


async def main() -> None:
    wanted = json.load(sys.stdin)
    keys = HostKeys(Path(wanted["known_hosts"]), wanted.get("accept_new", False))
    nodes = [Node(n["name"], n["address"], i, port=n.get("port")) for i, n in enumerate(wanted["nodes"])]
    answers = await asyncio.gather(*(ask(n, keys, wanted["config"], wanted["argv"]) for n in nodes))
    print(json.dumps(answers))


asyncio.run(main())
