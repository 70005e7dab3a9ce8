"""`ib_write_bw`: its words, its table, and its end in any case. No machine here has a device: the program is a fake."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.core import Cluster, Node
from allranks.node.probing import rdma
from allranks.probe import prober
from allranks.probe import rdma as between
from allranks.probe.results import Ear, Link, Results
from allranks.spec import Run, Train
from allranks.transport import NodeProgram, Nodes
from allranks.transport.local import LocalTransport

LINE = "-" * 87
TABLE = f"""{LINE}
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Mtu             : 4096[B]
 Link type       : IB
{LINE}
 local address: LID 0x0d QPN 0x0097 PSN 0x1d9d4a RKey 0x1fff00 VAddr 0x007f4a1c0f0000
 remote address: LID 0x0e QPN 0x0098 PSN 0xa4b6c3 RKey 0x1fff00 VAddr 0x007f0c4a7e0000
{LINE}
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1128100          0.00               197.14             0.376017
{LINE}
"""
"""The form that perftest 4.5 prints (perftest's README and its source, `perftest_parameters.c`); addresses made up."""


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (TABLE, 197.14e9 / 8),
        (TABLE.replace("Gb/sec", "MB/sec"), 197.14 * (1 << 20)),
        (TABLE.replace("Gb/sec", "MiB/sec"), 197.14 * (1 << 20)),
        (TABLE.replace("197.14", "0.00"), None),
        (TABLE.replace("197.14", "-nan-"), None),
        (TABLE.split(" #bytes")[0], None),
        (" 65536 1 2 3 4\n", None),
        ("", None),
    ],
)
def test_the_table_is_read_and_nothing_else(text: str, rate: float | None) -> None:
    assert rdma.parse(text) == (None if rate is None else pytest.approx(rate))


def test_each_value_is_one_word() -> None:
    waits = ["ib_write_bw", "-d", "mlx5_0", "-p", "18515", "-D", "1", "-F", "--report_gbits"]
    assert rdma.argv("mlx5_0", 18515, 1, None) == waits
    assert rdma.argv("mlx5_0", 18515, 1, "$(id)") == [*waits, "$(id)"]


def test_the_first_active_device_is_taken(tmp_path: Path) -> None:
    for name, state in (("mlx5_0", "1: DOWN"), ("mlx5_1", "4: ACTIVE"), ("mlx5_2", "4: ACTIVE")):
        (tmp_path / name / "ports" / "1").mkdir(parents=True)
        (tmp_path / name / "ports" / "1" / "state").write_text(state + "\n")
    assert rdma.active_device(str(tmp_path)) == "mlx5_1"
    assert rdma.active_device(str(tmp_path / "none")) is None


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A program of that name that runs these lines of shell, on a machine with a device."""

    def make(script: str) -> None:
        program = tmp_path / "ib_write_bw"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(rdma, "active_device", lambda root: "mlx5_0")
    (tmp_path / "table").write_text(TABLE)
    return make


def test_the_side_that_dials_waits_for_the_other(fake, tmp_path: Path) -> None:
    fake(
        f'cd {tmp_path}; if [ -e up ]; then cat table; else touch up; echo "Couldn\'t connect to h:18515"; exit 1; fi'
    )
    answer = rdma.run({"seconds": 1, "host": "h"})
    assert answer == {"device": "mlx5_0", "bytes_per_second": pytest.approx(197.14e9 / 8), "reason": ""}


@pytest.mark.lengthy
def test_a_program_that_hangs_is_ended(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdma, "MORE_SECONDS", 0.2)
    fake("exec sleep 600")
    assert "did not end within" in rdma.run({"seconds": 1})["reason"]


def test_what_it_says_is_the_reason(fake) -> None:
    fake("echo ' Unable to open device'; exit 1")
    assert rdma.run({"seconds": 1})["reason"] == "Unable to open device"


@pytest.mark.lengthy
def test_nodes_without_it_are_said_and_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path))
    names = ("a", "b")
    nodes = Nodes(
        {name: NodeProgram(LocalTransport(name), sys.executable) for name in names},
        {name: Node(name, "127.0.0.1", rank) for rank, name in enumerate(names)},
    )
    ears = {name: Ear(name, address="127.0.0.1", rdma=1) for name in names}
    links, reason = asyncio.run(between.measure_rounds(nodes, ears, [[("a", "b")]]))
    assert links == [] and ("not installed" in reason or "no InfiniBand" in reason)


class Program:
    """A node whose side of a pair gives this reason, or a figure."""

    def __init__(self, node: str, dials: str, waits: str):
        self.node, self.reasons = node, (dials, waits)
        self.asked = 0

    async def call(self, _verb: str, _what: str, *, stdin: dict, timeout_seconds: float) -> dict:
        self.asked += 1
        reason = self.reasons["host" not in stdin]
        return {"bytes_per_second": None, "reason": reason} if reason else {"bytes_per_second": 1e10}


def between_two(a: tuple[str, str], b: tuple[str, str]) -> tuple[list[Link], str, Program]:
    programs = {"a": Program("a", *a), "b": Program("b", *b)}
    nodes = Nodes(programs, {name: Node(name, "127.0.0.1", rank) for rank, name in enumerate("ab")})
    ears = {name: Ear(name, address="127.0.0.1", rdma=1) for name in "ab"}
    links, reason = asyncio.run(between.measure_rounds(nodes, ears, [[("a", "b")], [("a", "b")]]))
    return links, reason, programs["a"]


BROKEN = "Failed to modify QP to RTR"


def test_rdma_that_fails_between_all_pairs_is_no_skipped_part() -> None:
    links, reason, program = between_two((BROKEN, BROKEN), (BROKEN, BROKEN))
    assert links == [Link("a", "b", None, reason=BROKEN)] and reason == ""
    assert program.asked == 1, "another round would take as long"


@pytest.mark.parametrize("said", [rdma.NO_PROGRAM, rdma.NO_PORT])
def test_nodes_without_the_program_or_a_port_are_skipped(said: str) -> None:
    assert between_two((said, said), (said, said))[:2] == ([], said)


def test_a_node_without_the_program_explains_what_the_other_reports() -> None:
    both = ("Couldn't connect to h:18515", "Couldn't connect"), (rdma.NO_PROGRAM, rdma.NO_PROGRAM)
    assert between_two(*both)[:2] == ([], rdma.NO_PROGRAM)


def test_a_port_that_is_inactive_on_one_node_alone_is_a_fault() -> None:
    links, reason, _ = between_two((rdma.NO_PORT, rdma.NO_PORT), ("Timeout", "Timeout"))
    assert links[0].reason == f"{rdma.NO_PORT} on a" and reason == ""


def test_links_of_which_none_was_measured_are_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*_args: object) -> tuple[list[Link], str]:
        return [], ""

    monkeypatch.setattr(between, "measure_rounds", none)
    ears = {name: Ear(name, address="127.0.0.1", rdma=1) for name in ("a", "b")}
    results = Results(nodes=("a", "b"), ears=ears)
    said: list[str] = []
    assert asyncio.run(prober.over_rdma(Nodes({}, {}), results, [[("a", "b")]], said.append)).rdma == ()
    assert said == []


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"NCCL_SOCKET_IFNAME": "ib"}, {}),  # NCCL takes each interface whose name begins so
        ({"NCCL_SOCKET_IFNAME": "=ib0"}, {"n0": "ib0"}),
        ({"NCCL_SOCKET_IFNAME": "ib", "GLOO_SOCKET_IFNAME": "ib0"}, {"n0": "ib0"}),
        ({"NCCL_SOCKET_IFNAME": "^docker0"}, {}),
    ],
)
def test_the_beginning_of_a_name_is_no_interface(variables: dict[str, str], told: dict[str, str]) -> None:
    run = Run("x", Cluster((Node("n0", "10.0.0.1", 0),)), Train("command"))
    plan = SimpleNamespace(environment={"all": variables})
    assert prober.told_interfaces(run, plan) == told  # type: ignore[arg-type]  # a stand-in
