"""Decides when to ask SLURM's queue: one squeue for all jobs that this process waits for, less and less often.

squeue(1) warns against calling it in loops: the controller of the whole cluster answers every call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

FIRST_SECONDS = 1.0
MOST_SECONDS = 30.0
GROWTH = 1.5

Answer = TypeVar("Answer")


class Turns:
    """The moments at which all waiting tasks look at the queue together: 1 s after the first task begins to wait,
    then with pauses that grow by a factor of 1.5, up to 30 s."""

    def __init__(self) -> None:
        self.pause = FIRST_SECONDS
        self._turn: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A task begins to wait: the next look comes within a second, and the pauses are short again."""
        self.pause = FIRST_SECONDS
        if self._timer is None:
            return  # the first task in `next` sets it
        if self._timer.when() > asyncio.get_running_loop().time() + FIRST_SECONDS:
            self._timer.cancel()
            self._set()
        else:
            self.pause *= GROWTH

    async def next(self) -> None:
        """Waits until the next of these moments."""
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
            self._set()
        await asyncio.shield(self._turn)

    def _set(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.pause, self._come)
        self.pause = min(self.pause * GROWTH, MOST_SECONDS)

    def _come(self) -> None:
        turn, self._turn, self._timer = self._turn, None, None
        if turn is not None:
            turn.set_result(None)


class Together(Generic[Answer]):
    """Combines questions that are asked at the same moment into one call. Each caller gets the answer to all of
    them."""

    def __init__(self, call: Callable[[Sequence[str]], Awaitable[Answer]]):
        self._call = call
        self._asked: dict[str, None] = {}
        self._pending: asyncio.Task[Answer] | None = None

    async def query(self, question: str) -> Answer:
        self._asked[question] = None
        if self._pending is None:
            self._pending = asyncio.create_task(self._answer())
        return await asyncio.shield(self._pending)

    async def _answer(self) -> Answer:
        await asyncio.sleep(0)  # other tasks that were woken at this moment ask now
        questions, self._asked, self._pending = list(self._asked), {}, None
        return await self._call(questions)


Kept = TypeVar("Kept")


def of_loop(known: WeakKeyDictionary[asyncio.AbstractEventLoop, Kept], make: Callable[[], Kept]) -> Kept:
    """The object that belongs to the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in known:
        known[loop] = make()
    return known[loop]


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def turns() -> Turns:
    return of_loop(_TURNS, Turns)
