"""Who has not answered the check yet is said after some seconds, and given up after the run file's limit."""

from __future__ import annotations

import asyncio
import io
import time
from typing import Any

import pytest

from allranks import spec
from allranks.core import Event, Node
from allranks.output.console import Out
from allranks.output.terminal import LiveView
from allranks.runs import inspection, silent_nodes
from allranks.transport import Nodes, Unreachable

FILE = """
nodes: {node-1: localhost, node-2: localhost}
same_host: true
answer_seconds: 7
train: {command: [train.py]}
"""


class Program:
    def __init__(self, node: str, waits_for: asyncio.Event | None, asked: dict[str, float]):
        self.node, self.waits_for, self.asked = node, waits_for, asked

    async def call(
        self, _verb: str, *_words: str, timeout_seconds: float = 60.0, **_more: Any
    ) -> dict[str, Any]:
        self.asked[self.node] = timeout_seconds
        if self.waits_for is not None:
            await self.waits_for.wait()
            raise Unreachable(
                self.node, "no-answer", f"no answer within {timeout_seconds:.0f} s", "log in by hand"
            )
        return {"taken_at": 1.0, "values": {}, "unreadable": {}}


def test_the_silent_node_is_named_and_given_up_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_nodes, "LATE_SECONDS", 0.01)
    monkeypatch.setattr(silent_nodes, "AGAIN_SECONDS", 0.01)
    run, asked, said = spec.loads(FILE), {}, []

    async def look() -> inspection.Inspection:
        named = asyncio.Event()

        def late(names: list[str], seconds: float) -> None:
            said.append(names)
            if names == ["node-2"]:
                named.set()

        programs: dict[str, Any] = {
            "node-1": Program("node-1", None, asked),
            "node-2": Program("node-2", named, asked),
        }
        nodes = Nodes(programs, {name: Node(name, "127.0.0.1", i) for i, name in enumerate(programs)})
        return await asyncio.wait_for(inspection.inspect(nodes, run, late), 60)

    seen = asyncio.run(look())
    assert ["node-2"] in said and said[-1] == []
    assert asked == {"node-1": 7, "node-2": 7}
    (finding,) = [f for f in seen.findings if f.id == "unreadable-node"]
    assert finding.where.node == "node-2" and "no answer within 7 s" in finding.saw
    assert finding.fix == "log in by hand; or take node-2 out of nodes"


def test_nobody_is_named_when_all_answer_at_once() -> None:
    said: list[list[str]] = []

    async def look() -> None:
        async with silent_nodes.SilentNodes(["a"], lambda names, _: said.append(names)) as silent:
            silent.heard("a")

    asyncio.run(look())
    assert said == []


def silent(names: list[str], seconds: float) -> Event:
    return Event(time.time(), "silent", None, None, {"nodes": names, "seconds": seconds})


def test_a_run_says_in_a_log_who_is_waited_for() -> None:
    file = io.StringIO()
    with LiveView(out=Out(file=file, live=False, width=200)) as view:
        view.add(Event(time.time(), "phase", None, None, {"phase": "check", "why": ""}))
        for names, seconds in (
            (["node-1", "node-2"], 5.0),
            (["node-2", "node-1"], 10.0),
            (["node-2"], 15.0),
            ([], 20.0),
        ):
            view.add(silent(names, seconds))
    lines = [line for line in file.getvalue().splitlines() if "waiting" in line]
    assert lines == ["check    waiting for node-[1-2] (5 s)", "check    waiting for node-2 (15 s)"]


def test_a_run_shows_them_in_the_live_view() -> None:
    view = LiveView(out=Out(file=io.StringIO(), live=True, width=100))
    view.add(Event(time.time(), "phase", None, None, {"phase": "check", "why": ""}))
    view.add(silent(["node-2"], 5.0))
    assert [(line.names, line.state) for line in view.snapshot().nodes] == [
        (("node-2",), "no answer for 5 s")
    ]
    view.add(silent([], 6.0))
    assert view.snapshot().nodes == []


@pytest.mark.parametrize("text", ["4", "3601", "soon", "1.5"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    from allranks.core import BadInput

    with pytest.raises(BadInput, match="answer_seconds"):
        spec.loads(FILE.replace("answer_seconds: 7", f"answer_seconds: {text}"))
