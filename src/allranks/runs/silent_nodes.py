"""Who has not answered yet: said while it is waited for, not only at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from types import TracebackType

LATE_SECONDS = 5.0
"""A node answers in 1 to 3 s; one that imports the training stack from a cold disk takes up to a minute."""

AGAIN_SECONDS = 5.0

Late = Callable[[list[str], float], None]
"""Gets the names of the nodes that are waited for and the seconds since they were asked; no names in the end."""


class SilentNodes:
    """As a context: tells `late` who is silent from `LATE_SECONDS` on, again and again until all have answered."""

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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
