"""The transport of this machine."""

from __future__ import annotations

import asyncio
import sys

from allranks.reach.local import LocalTransport

EARLY = "import os; os.close(0); print('no such bundle')"


def test_a_program_that_reads_nothing_is_heard() -> None:
    async def lines() -> list[bytes]:
        transport = LocalTransport("node-0")
        return [
            line async for line in transport.stream([sys.executable, "-c", EARLY], stdin=b"x" * 4_000_000)
        ]

    assert asyncio.run(lines()) == [b"no such bundle\n"]
