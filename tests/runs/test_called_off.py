"""A start that is interrupted: what it had begun on the nodes must not go on behind its back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from allranks.core import Node
from allranks.runs.engine_start import EngineStart


def test_an_order_of_an_interrupted_start_ends_with_it() -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def call() -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ended.append("the order")
            raise
        return {}

    async def interrupted() -> None:
        one = EngineStart.__new__(EngineStart)
        one.task = asyncio.ensure_future(asyncio.sleep(600))
        waiting = asyncio.ensure_future(one.order(call(), Node("node-0", "10.0.0.1", 0)))
        await asyncio.wait_for(begun.wait(), 60)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ended == ["the order"], "before the start is undone"
        one.task.cancel()

    asyncio.run(interrupted())
