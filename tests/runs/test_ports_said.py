"""What is said of a port that a dead run held: that it was freed only where something was ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.runs import ports


@dataclass(frozen=True)
class Seen:
    findings: tuple[Any, ...] = ()


@pytest.mark.parametrize(
    ("answer", "pids"),
    [
        ({"stopped": [{"pid": 5}, {"pid": 6}], "processes": []}, "5, 6"),
        ({"stopped": [{"pid": 5}, {"pid": 6}], "processes": [{"pid": 6}]}, "5"),
        ({"stopped": [{"pid": 5}], "processes": [{"pid": 5}]}, None),
        ({"stopped": [], "processes": []}, None),
    ],
    ids=["ended", "one hangs", "it hangs", "ended by itself"],
)
def test_freed_is_what_was_ended(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], pids: str | None
) -> None:
    async def call(*words: str, **_: Any) -> dict[str, Any]:
        return answer

    async def inspect(*_: Any) -> Seen:
        return Seen()

    monkeypatch.setattr(ports, "inspect", inspect)
    monkeypatch.setattr(ports, "holders", lambda seen: {"earlier-1": 29500})
    run: Any = SimpleNamespace(cluster=SimpleNamespace(head=SimpleNamespace(name="node-0")))
    nodes: Any = {"node-0": SimpleNamespace(call=call)}
    seen: Any = Seen()
    said = []
    asyncio.run(ports.freed(nodes, run, seen, lambda finding: said.append(finding.saw)))
    assert [f"by pid {pids} of run" in saw for saw in said] == ([] if pids is None else [True])
