"""Run inside the rig's controller namespace: asks nodes over SSH, prints JSON per node."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

from allranks.core import Node
from allranks.transport import NodeProgram, Nodes
from allranks.transport.base import Transport, Unreachable
from allranks.transport.openssh import OpensshTransport, Sockets
from allranks.transport.ssh import HostKeys, SshTransport


async def ask(node: Node, transport: Transport, argv: list[str]) -> dict:
    """What `argv` printed; or of `verb NAME` the node program's answer, of `lines …` the lines as they come."""
    begin = time.monotonic()
    try:
        if argv[0] == "verb":
            told = await NodeProgram(transport).call(argv[1], stdin={})
            return {"told": told, "node": node.name}
        if argv[0] == "lines":
            lines = [line.decode() async for line in transport.stream(argv[1:], stdin=b"in\n")]
            return {"lines": lines, "node": node.name}
        done = await transport.run(argv, stdin=b"in\n", timeout_seconds=60)
        answer = {"out": done.out.decode(), "code": done.code}
    except Unreachable as error:
        answer = {"cause": error.cause, "text": error.text}
    return {**answer, "node": node.name, "seconds": time.monotonic() - begin}


async def end_master(transport: Transport) -> None:
    """As its idle time does. What `end_masters` holds runs after it."""
    assert isinstance(transport, OpensshTransport)
    words = ["ssh", *transport._options(), "-O", "exit", "--", transport.described.address]
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


async def main() -> None:
    wanted = json.load(sys.stdin)
    if wanted.get("files"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted["files"], wanted["files"]))
    described = {
        n["name"]: Node(n["name"], n["address"], i, port=n.get("port")) for i, n in enumerate(wanted["nodes"])
    }
    keys = HostKeys(wanted.get("accept_new", False))
    sockets = Sockets()

    def transport(node: Node) -> Transport:
        if wanted.get("transport") == "openssh":
            return OpensshTransport(node, sockets, config=wanted["config"], accept_new=keys.accept_new)
        return SshTransport(node, config=[wanted["config"]], keys=keys)

    nodes = Nodes({name: NodeProgram(transport(node)) for name, node in described.items()}, described)
    try:
        outcomes = []
        for turn in range(wanted.get("times", 1)):
            if turn and wanted.get("end_masters"):
                await nodes.each(lambda node, program: end_master(program.transport))
                await (await asyncio.create_subprocess_exec(*wanted["end_masters"])).wait()
            outcomes = await nodes.each(lambda node, program: ask(node, program.transport, wanted["argv"]))
    finally:
        await nodes.close()
    print(json.dumps([outcome.answer for outcome in outcomes]))


asyncio.run(main())
