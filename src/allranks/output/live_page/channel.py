"""One run for the page: it follows the run's journal like `allranks watch`, and sends the changes to its watchers.

Without a watcher the journal is still read, and nothing else is done. A watcher that is too slow gets everything
again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from allranks.core import AllranksError
from allranks.core.run_states import FINAL
from allranks.core.untrusted import integer
from allranks.output.json_values import finite
from allranks.output.live_page.run_record import RunRecord
from allranks.runs import index
from allranks.runs.keeper_stop_request import journal_unwritten
from allranks.runs.run_copy import pieces
from allranks.transport import NodeProgram, ProgramFailed

JOURNAL = "keeper/journal.jsonl"
TICK_SECONDS = 1.0
AGAIN_SECONDS = 5.0
"""The wait after the connection to a head has ended."""

LONGEST_LINE = 4 << 20
MOST_DOCUMENT = 16 << 20
WAITING = 8
"""The most messages that a watcher may be behind."""

FIRST_SECONDS = 1.5
ALIVE_SECONDS = 15.0
"""How often an idle watcher gets a message, so that a closed page is noticed."""


class Channel:
    """`start` begins to follow; `watch` yields a watcher's messages."""

    def __init__(self, run_id: str):
        self.id = run_id
        self.record = RunRecord(run_id)
        self.documents: dict[str, Mapping[str, Any]] = {}
        self.watchers: set[asyncio.Queue[bytes | None]] = set()
        self.caught_up = asyncio.Event()
        self.offset = 0
        self.rest = ""
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self.tasks = [asyncio.ensure_future(self.follow()), asyncio.ensure_future(self.tick())]

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # ---- reads the journal ----

    async def follow(self) -> None:
        """Follows the journal to its end. After a lost connection it continues from the same place."""
        while not self.record.ended:
            try:
                async with index.connected_head(self.id) as head:
                    await self.read(head)
            except (AllranksError, OSError, ValueError) as error:
                self.record.reached, self.record.why = False, str(error) or type(error).__name__
            self.record.changed.add("run")
            self.caught_up.set()
            if not self.record.ended:
                await asyncio.sleep(AGAIN_SECONDS)

    async def read(self, head: NodeProgram) -> None:
        await self.prepare(head)
        words = ["--from", JOURNAL, str(self.offset)] if self.offset else []
        async for piece in head.follow(self.id, JOURNAL, *words):
            if piece.get("unwritten"):
                self.unwritten(str(piece["unwritten"]))
            self.take(str(piece.get("text", "")), integer(piece.get("offset")))
            if self.offset >= self.record.size_bytes:
                self.caught_up.set()
            await asyncio.sleep(0)
        await self.end(head)

    async def end(self, head: NodeProgram) -> None:
        """After the last line: the journal of a run whose keeper died has no last state, but the run's status has one.
        If the run has not ended, it is followed again."""
        if self.record.run_state not in FINAL:
            status = await head.call("read", "status", self.id)
            if status.get("state") not in FINAL:
                return
            self.record.end(status)
        self.record.ended = True

    async def prepare(self, head: NodeProgram) -> None:
        """Reads the run's plan before its first event, and the size of the journal."""
        if not self.documents:
            documents = {name: await document(head, self.id, f"{name}.json") for name in ("plan", "run")}
            status = await head.call("read", "status", self.id)
            self.documents = {
                **documents,
                "state": status,
            }  # all of them: after a lost connection it is tried again
            self.record = RunRecord(self.id, str(status.get("name") or ""), documents["plan"])
        seen = await head.call("read", "chunk", self.id, JOURNAL, "0", "0")
        self.record.size_bytes = integer(seen.get("size_bytes")) or 0
        self.record.reached, self.record.why = True, ""
        self.record.changed.add("run")
        if not self.record.size_bytes:
            self.caught_up.set()

    def take(self, text: str, offset: int | None) -> None:
        if not text:
            return
        self.offset = (self.offset if offset is None else offset) + len(text.encode("utf-8", "replace"))
        *lines, self.rest = (self.rest + text).split("\n")
        if len(self.rest) > LONGEST_LINE:
            self.rest = ""
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                self.record.add(event)
        if lines:
            self.record.heard(self.caught_up.is_set())
        self.record.read_bytes = self.offset
        self.record.size_bytes = max(self.record.size_bytes, self.offset)

    def unwritten(self, why: str) -> None:
        finding = journal_unwritten(f"on the head {why}").as_json()
        self.record.add(
            {"at": self.record.now(), "kind": "finding", "node": None, "rank": None, "data": finding}
        )

    # ---- tells the watchers ----

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.watchers:
                self.tell_changes()

    def tell_changes(self) -> None:
        found = self.record.delta()
        if found is not None:
            self.tell(encoded(found))

    def tell(self, message: bytes) -> None:
        for queue in self.watchers:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(message)

    async def watch(self) -> AsyncIterator[bytes]:
        """Yields everything, and then each change as one message. An empty message means that nothing has changed. It
        never ends."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        with contextlib.suppress(asyncio.TimeoutError):  # so that a short journal is drawn whole
            await asyncio.wait_for(self.caught_up.wait(), FIRST_SECONDS)
        self.tell_changes()  # to the others, because a snapshot resets the record of what was sent
        self.watchers.add(queue)
        try:
            yield encoded(self.record.snapshot())
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), ALIVE_SECONDS)
                except asyncio.TimeoutError:
                    message = b""
                if message is None:
                    self.tell_changes()
                    while not queue.empty():
                        queue.get_nowait()
                    message = encoded(self.record.snapshot())
                yield message
        finally:
            self.watchers.discard(queue)


async def document(head: NodeProgram, run_id: str, path: str) -> Mapping[str, Any]:
    """A JSON object from a run's folder; empty if there is none. Raises Unreachable."""
    parts, size = [], 0
    with contextlib.suppress(ProgramFailed, ValueError, RecursionError):
        async for part in pieces(head, run_id, path):
            parts.append(part)
            size += len(part)
            if size > MOST_DOCUMENT:
                return {}
        found = json.loads("".join(parts))
        return found if isinstance(found, dict) else {}
    return {}


def encoded(data: Any) -> bytes:
    """One line of JSON. A number that JSON does not have (NaN, infinity) becomes null."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    return text.encode()
