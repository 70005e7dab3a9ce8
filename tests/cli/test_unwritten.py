"""A head that cannot write its journal: who follows the run is told, since the journal cannot tell it."""

from __future__ import annotations

import asyncio
import io
import json

from allranks.cli.run_verbs import journal
from allranks.output.console import Out
from allranks.output.terminal import LiveView

FULL = "the disk of /home/x/.allranks/runs/r1/keeper is full"
STATE = {"at": 1.0, "kind": "state", "node": "a", "rank": None, "data": {"state": "running"}}


class Head:
    """Its journal stands still after one event."""

    async def follow(self, run_id: str, path: str):
        yield {"path": path, "offset": 0, "text": json.dumps(STATE) + "\n"}
        yield {"path": path, "offset": 0, "text": "", "unwritten": FULL}


def test_a_journal_that_stands_still_is_explained_in_the_terminal():
    async def followed():
        return [event async for event in journal(Head(), "r1")]  # type: ignore[arg-type]

    events = asyncio.run(followed())
    assert [event.kind for event in events] == ["state", "finding"]
    assert events[1].data["id"] == "journal-unwritten" and events[1].data["verdict"] == "warn"
    text = io.StringIO()
    with LiveView(name="r1", out=Out(file=text)) as view:
        for event in events:
            view.add(event)
    assert FULL in " ".join(text.getvalue().split())
