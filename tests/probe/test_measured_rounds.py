"""Rounds of measurements with a node that does not answer: they end before the listeners do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from allranks.core import Node
from allranks.node.probing import dialer
from allranks.probe import tcp
from allranks.probe.prober import Options, listen_seconds
from allranks.probe.results import DATA, OK, Dial, Ear, Link, ear_of
from allranks.probe.rounds import chosen
from allranks.transport import Nodes, ProgramFailed, Unreachable


class Program:
    """A node that measures 1 GB/s, or that answers nothing."""

    def __init__(self, node: str, silent: bool):
        self.node, self.silent = node, silent
        self.waited: list[float] = []

    async def call(self, _verb: str, _what: str, *, stdin: dict[str, Any], timeout_seconds: float) -> dict:
        if self.silent:
            self.waited.append(timeout_seconds)
            raise Unreachable(self.node, "no-answer", f"no answer within {timeout_seconds:.0f} s")
        return {
            "latency": {"least": 1e-4},
            "sent": {"bytes_per_second": 1e9},
            "received": {"bytes_per_second": 1e9},
        }


def cluster(size: int, *silent: str) -> tuple[Nodes, dict[str, Program], dict[str, Ear], tcp.Asked]:
    programs = {f"n{i}": Program(f"n{i}", f"n{i}" in silent) for i in range(size)}
    nodes = {name: Node(name, f"10.0.0.{rank}", rank) for rank, name in enumerate(programs)}
    ears = {name: Ear(name, address=node.address, port=4000) for name, node in nodes.items()}
    return Nodes(programs, nodes), programs, ears, tcp.Asked(key="00", head="n0", port=1)


def test_a_node_that_does_not_answer_costs_its_limit_once() -> None:
    nodes, programs, ears, asked = cluster(16, "n3")
    dials = [Dial(a, b, DATA, "", 4000, OK) for a in ears for b in ears if a != b]
    links, unreached = asyncio.run(tcp.measure_rounds(nodes, ears, asked, chosen(list(ears)), dials))
    assert list(unreached) == ["n3"] and len(programs["n3"].waited) == 1
    healthy = {(a, b) for a in ears for b in ears if a != b and "n3" not in (a, b)}
    assert healthy <= {(link.source, link.target) for link in links}
    assert all(link.bytes_per_second for link in links)


def test_measuring_again_waits_for_it_once_too() -> None:
    nodes, programs, ears, asked = cluster(8, "n3")
    links = [Link(a, b, 1e8 if "n3" in (a, b) else 1e9) for a in ears for b in ears if a != b]
    asyncio.run(tcp.measure_again(nodes, ears, asked, links))
    assert len(programs["n3"].waited) == 1


@pytest.mark.parametrize("size", [2, 16, 65, 200])
def test_the_listeners_outlive_rounds_that_take_their_whole_limit(size: int) -> None:
    nodes, _, ears, _ = cluster(size)
    options = Options()
    rounds = len(chosen(list(ears), options.most_rounds)) + tcp.MOST_AGAIN
    assert listen_seconds(nodes, options) > rounds * tcp.measure_limit(options.seconds) + tcp.dial_limit(size)
    if size > 64:
        assert listen_seconds(nodes, options) > listen_seconds(cluster(64)[0], options) + tcp.OPEN_SECONDS


@pytest.mark.parametrize("targets", [1, 127, 128, 1000, 5000])
def test_a_node_that_dials_many_ends_before_it_is_given_up(targets: int) -> None:
    own = 2 * tcp.DIAL_SECONDS * (1 + targets // dialer.AT_ONCE)
    assert tcp.dial_limit(targets) > own + 30


def test_an_odd_line_is_an_error_of_its_node() -> None:
    for line in (b"[" * 200_000, b"[1]", b"no", b"\xff"):
        with pytest.raises(ProgramFailed, match="printed no JSON object"):
            tcp.read_line(cluster(1)[1]["n0"], "listen", line)  # type: ignore[arg-type]  # a stand-in


def test_odd_ports_are_left_out() -> None:
    ports = {"39500": None, "²": None, "1" * 5000: None, "": None, "-1": "in use", "٣": None}
    assert ear_of("n0", {"ports": ports}).ports == {39500: None}
