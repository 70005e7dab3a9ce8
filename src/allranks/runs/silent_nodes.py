"""Reports which nodes have not answered yet, while allranks waits for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

LATE_SECONDS = 5.0
"""A node answers in 1 to 3 s. A node that imports the training stack from a cold disk takes up to a minute."""

AGAIN_SECONDS = 5.0

Late = Callable[[list[str], float], None]
"""Gets the names of the silent nodes and the seconds since they were asked. At the end it gets an empty list."""


class SilentNodes:
    """A context that gives `late` the silent nodes, after `LATE_SECONDS` and then every `AGAIN_SECONDS`."""

    def __init__(self, names: Iterable[str], late: Late | None):
        self.names, self.late = dict.fromkeys(names), late
        self.begin, self.said = time.monotonic(), False
        self._telling: asyncio.Task[None] | None = None

    def heard(self, name: str) -> None:
        self.names.pop(name, None)

    async def __aenter__(self) -> SilentNodes:
        if self.late is not None:
            self._telling = asyncio.ensure_future(self._tell(self.late))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        if self.said and self.late is not None:
            self.late([], time.monotonic() - self.begin)

    async def _tell(self, late: Late) -> None:
        await asyncio.sleep(LATE_SECONDS)
        while self.names:
            self.said = True
            late(list(self.names), time.monotonic() - self.begin)
            await asyncio.sleep(AGAIN_SECONDS)
