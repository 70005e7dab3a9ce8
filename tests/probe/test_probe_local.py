"""The whole probe on this machine, and collectives whose ranks are small scripts that behave badly."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.core import Node
from allranks.probe import collective
from allranks.probe.collective import Ranks
from allranks.probe.judge import judge
from allranks.probe.results import Collective, Results
from allranks.probe.steps import Step, proposed, steps
from allranks.transport import reached
from tests.harness import free_port
from tests.probe.case import Simulated

pytestmark = pytest.mark.lengthy

HEALTHY = """#!/bin/sh
say() { echo "allranks-probe $1"; }
say '{"at": "begun", "python": "3.11.7"}'
say '{"at": "imported", "torch": "2.13.0"}'
say '{"at": "joined"}'
say '{"at": "summed", "wrong": 0, "of": 4}'
say '{"at": "measured", "seconds": 0.01, "bytes": 16}'
say '{"at": "done"}'
"""
HANGS = HEALTHY.split('say \'{"at": "joined"}\'', maxsplit=1)[0] + "exec sleep 300\n"
FAILS = "#!/bin/sh\necho boom >&2\nexit 1\n"


def ran(folder: Path, scripts: list[str], **limits: float) -> Collective:
    """One collective of as many local nodes as there are scripts, each with its own Python."""
    python = {}
    for number, text in enumerate(scripts):
        path = folder / f"python{number}"
        path.write_text(text)
        path.chmod(0o755)
        python[f"n{number}"] = str(path)
    nodes = reached([Node(name, "127.0.0.1", i) for i, name in enumerate(python)], "local")
    ranks = Ranks(
        key="ab" * 32,
        python=python,
        master=("127.0.0.1", 1),
        placed={name: [(i, 0)] for i, name in enumerate(python)},
        environment={},
        **limits,
    )
    return asyncio.run(collective.run(nodes, Step("one rank per node", True, "gloo", 16), ranks))


def judged(one: Collective) -> list[str]:
    simulated = Simulated(len(one.ranks))
    results = Results(tuple(n.name for n in simulated.nodes), ears=simulated.ears, collectives=(one,))
    return [f"{f.where.node}: {f.saw}" for f in judge(results, simulated.run) if f.id == "collective-failed"]


def test_ranks_that_come_to_their_end_have_passed(home: Path, tmp_path: Path) -> None:
    one = ran(tmp_path, [HEALTHY, HEALTHY])
    assert one.passed and one.stopped == "" and judged(one) == []
    assert one.bytes_per_second == pytest.approx(16 / 0.01)


def test_ranks_that_wait_are_ended_and_it_is_said_where_they_waited(home: Path, tmp_path: Path) -> None:
    one = ran(tmp_path, [HANGS, HANGS], join_seconds=0.5)
    assert one.stopped.startswith("it was not over 0.5 s after the last rank had imported torch")
    assert "2 ranks reached only `imported`: it waits for the others at the rendezvous" in judged(one)[0]


def test_a_rank_that_fails_is_named_and_the_waiting_one_is_not(home: Path, tmp_path: Path) -> None:
    one = ran(tmp_path, [HANGS, FAILS])
    assert [line.split(":")[0] for line in judged(one)] == ["n1"] and "boom" in judged(one)[0]


def test_an_import_that_never_ends_is_ended_too(home: Path, tmp_path: Path) -> None:
    one = ran(tmp_path, [HEALTHY, "#!/bin/sh\nexec sleep 300\n"], import_seconds=4.0)
    assert "torch was not imported everywhere within 4 s" in one.stopped
    assert judged(one)[0].startswith("n1: ")


def probed(folder: Path, *words: str, code: int = 0, **more: object) -> dict:
    data = {
        "nodes": "node-[0-2]",
        "same_host": True,
        "gpus": {"count": 1, "model": "cpu"},
        "network": {"port": free_port()},
        "train": {"command": ["train.py"]},
        **more,
    }
    file = folder / "run.yaml"
    file.write_text(json.dumps(data))
    command = [sys.executable, "-m", "allranks.cli", "probe", str(file), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (done.stdout[-2000:], done.stderr[-2000:])
    return json.loads(done.stdout)


def test_three_nodes_on_this_machine(home: Path, tmp_path: Path) -> None:
    answer = probed(tmp_path, "--no-torch", "--seconds", "0.05")
    # how fast three programs exchange bytes in 0.05 s on a busy machine is chance
    assert {f["verdict"] for f in answer["findings"] if f["id"] != "link-slow"} == {"ok"}, answer["findings"]
    assert len(answer["links"]) == 6 and answer["skipped"] == {"torch": "not requested"}
    assert len(answer["connections"]) == 9  # three to the rendezvous, six between the nodes


def test_a_rendezvous_port_that_is_held_is_unknown_and_no_rank_waits_for_it(
    home: Path, tmp_path: Path
) -> None:
    with socket.create_server(("", 0)) as held:
        port = held.getsockname()[1]
        answer = probed(tmp_path, "--seconds", "0", code=3, network={"port": port})
    (found,) = [f for f in answer["findings"] if f["verdict"] != "ok"]
    assert (found["id"], found["verdict"]) == ("not-probed", "unknown") and f"port {port}" in found["saw"]
    assert answer["skipped"] == {"torch": "not-probed prevents it"} and answer["collectives"] == []


@pytest.mark.training
def test_one_rank_a_node_and_then_all_ranks(home: Path, tmp_path: Path) -> None:
    answer = probed(tmp_path, "--seconds", "0", nodes="node-[0-1]", gpus={"count": 2, "model": "cpu"})
    assert [(c["step"], c["ranks"], c["passed"]) for c in answer["collectives"]] == [
        ("one rank per node", 2, True),
        ("all ranks", 4, True),
    ]
    before, together = [one["devices"] for one in answer["collectives"]]
    assert before == [] and [(one["rank"], one["device"]) for one in together] == [
        (n, None) for n in range(4)
    ]
    assert all(one["flops"] > 1e6 and one["copied"] > 1e6 for one in together)


# ---- the steps ----


def on_gpus(**more: object) -> list[str]:
    from dataclasses import replace

    simulated = Simulated(2)
    cluster = replace(simulated.run.cluster, nodes=tuple(replace(n, gpus=8) for n in simulated.nodes))
    run = replace(simulated.run, cluster=cluster, **more)
    return [f"{s.name} {' '.join(sorted(s.environment))}".strip() for s in steps(run, True, infiniband=True)]


def test_on_gpus_it_climbs_from_tcp_to_infiniband() -> None:
    assert on_gpus() == [
        "one rank per node NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SHM_DISABLE",
        "tcp NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SHM_DISABLE",
        "shared-memory NCCL_IB_DISABLE NCCL_P2P_DISABLE",
        "p2p NCCL_IB_DISABLE",
        "infiniband",
    ]


def test_what_the_user_set_is_left_as_it_is() -> None:
    assert on_gpus(env={"NCCL_IB_DISABLE": "0"})[3] == "p2p"


def rung(name: str, seconds: float, code: int = 0) -> Collective:
    from dataclasses import replace

    from tests.probe.case import collective as healthy

    one = healthy(name, ["n0", "n1"], "nccl", seconds)
    return replace(one, ranks=tuple(replace(rank, code=code) for rank in one.ranks))


def test_the_fastest_that_passed_is_proposed() -> None:
    assert proposed([rung("tcp", 0.4), rung("p2p", 0.02), rung("infiniband", 0.01, code=1)]).name == "p2p"
    assert proposed([rung("tcp", 0.400), rung("shared-memory", 0.404)]).name == "shared-memory"
    assert proposed([rung("tcp", 0.1), rung("shared-memory", 0.2)]).name == "tcp"
    assert proposed([rung("one rank per node", 0.1)]) is None
