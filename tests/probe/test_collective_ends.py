"""A collective that does not pass has a finding, however its nodes' reports end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BLOCK, Node
from allranks.probe import collective
from allranks.probe.judge import judge
from allranks.probe.results import Collective
from allranks.probe.rules.collective_failed import STAGES
from allranks.probe.steps import Step
from allranks.transport import NodeProgram, Nodes
from tests.probe.case import Simulated

SAYS = [{"at": "imported", "torch": "2"}, {"at": "done", "wrong": 0}]


class Reports:
    """A transport whose stream has these lines, and then ends or waits until it is closed."""

    def __init__(self, node: str, lines: Sequence[dict], waits: bool = False):
        self.node, self.lines, self.waits = node, lines, waits

    async def run(self, *_: object, **__: object) -> None:
        raise AssertionError

    async def stream(self, *_: object, **__: object) -> AsyncGenerator[bytes, None]:
        for line in self.lines:
            yield json.dumps(line).encode()
        if self.waits:
            await asyncio.sleep(60)


def report(rank: int, code: int | None = 0, said: Sequence[dict] = SAYS) -> list[dict]:
    ended = [] if code is None else [{"rank": rank, "ended": code, "tail": ""}]
    return [*({"rank": rank, "said": one} for one in said), *ended]


def ran(*lines: Sequence[dict], waits: bool = False, monkeypatch: pytest.MonkeyPatch) -> Collective:
    async def told(*_: object) -> None:
        return None

    monkeypatch.setattr(collective, "tell_to_end", told)
    monkeypatch.setattr(collective, "END_SECONDS", 0.1)
    names = [f"n{i}" for i in range(len(lines))]
    programs = {
        name: NodeProgram(Reports(name, own, waits))  # type: ignore[arg-type]  # a stand-in
        for name, own in zip(names, lines, strict=True)
    }
    nodes = Nodes(programs, {name: Node(name, "127.0.0.1", i) for i, name in enumerate(names)})
    ranks = collective.Ranks(
        key="ab" * 32,
        python=dict.fromkeys(names, "python3"),
        master=("127.0.0.1", 1),
        placed={name: [(i, 0)] for i, name in enumerate(names)},
        environment={},
        join_seconds=0.1,
    )
    return asyncio.run(collective.run(nodes, Step("one rank per node", True, "gloo", 16), ranks))


def blocked(one: Collective) -> list[str]:
    sim = Simulated(len(one.ranks))
    sim.collectives = [one]
    return [f"{f.where.node}: {f.saw}" for f in judge(sim.results(), sim.run) if f.verdict == BLOCK]


def test_reports_with_all_ends_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ran(report(0), report(1), monkeypatch=monkeypatch)
    assert one.passed and blocked(one) == []


def test_a_report_that_ends_without_its_rank_s_end_is_a_node_that_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = ran(report(0), report(1, None, SAYS[:1]), monkeypatch=monkeypatch)
    assert one.unreached == {"n1": "its ranks' report ended early"}
    assert blocked(one) == [
        "n1: one rank per node: its ranks could not be watched: its ranks' report ended early"
    ]


def test_reports_that_end_because_they_were_told_to_are_no_lost_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = report(0, None, SAYS[:1]), report(1, None, SAYS[:1])
    one = ran(*lines, waits=True, monkeypatch=monkeypatch)
    assert one.stopped and not one.unreached and "2 ranks reached only `imported`" in blocked(one)[0]


RANK = st.fixed_dictionaries(
    {
        "reached": st.sampled_from([*STAGES, "else"]),
        "code": st.sampled_from([None, 0, 0, 0, 1, -6, -9, -99]),
        "wrong": st.sampled_from([None, 0, 0, 3]),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.lists(RANK, min_size=1, max_size=4), st.sampled_from(["", "a rank had failed"]))
def test_what_did_not_pass_is_never_without_a_finding(ranks: list[dict], stopped: str) -> None:
    sim = Simulated(len(ranks))
    one = sim.collectives[0]
    told = tuple(replace(rank, **changed) for rank, changed in zip(one.ranks, ranks, strict=True))
    one = replace(one, ranks=told, stopped=stopped)
    assert bool(blocked(one)) is not one.passed
