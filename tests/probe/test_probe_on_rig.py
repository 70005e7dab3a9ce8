"""`allranks probe` on real nodes whose packet filters, links, names and clocks are really broken."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.harness import until
from tests.harness.on_rig import RigDesk, lines_of, machines
from tests.rig.rig import STATE, Rig, address

pytestmark = pytest.mark.rig
RENDEZVOUS = ["-p", "tcp", "--dport", "39500"]
LET_IN = ["INPUT", *RENDEZVOUS, "-j", "ACCEPT"]
"""Before a rule for the data's ports, among which the rendezvous port is."""

ANY = ["-p", "tcp", "--dport", "32768:60999"]
DATA = [*ANY, "--syn"]
RESET = ["-j", "REJECT", "--reject-with", "tcp-reset"]


def probe(desk: RigDesk, *words: object, **keys: object) -> dict:
    nodes = {f"node{n}": address(n) for n in range(1, desk.rig.count + 1)}
    train = {"command": ["/root/train.py"]}
    file = desk.file(**{"nodes": nodes, "train": train, "env": {"CUDA_VISIBLE_DEVICES": ""}, **keys})
    done = desk("probe", file, "--json", *words)
    assert done.stdout, done.stderr[-3000:]
    return {**json.loads(done.stdout), "code": done.returncode}


def measured(desk: RigDesk) -> dict:
    return probe(desk, "--no-torch", "--seconds", 0.3)


def connections(desk: RigDesk, **keys: object) -> dict:
    """Without bandwidth and torch: what fails here has failed before those."""
    return probe(desk, "--no-torch", "--seconds", 0, **keys)


def said(answer: dict, *verdicts: str) -> set[tuple[str, str | None]]:
    """The (id, node) of what was found; by default all that is no `ok`. Without `device-slow`: the nodes share a
    processor, and how much of it each gets is chance."""
    wanted = verdicts or ("note", "warn", "unknown", "block")
    found = [f for f in answer["findings"] if f["verdict"] in wanted and f["id"] != "device-slow"]
    return {(f["id"], f["where"]["node"]) for f in found}


def text(answer: dict) -> str:
    return " | ".join(f["saw"] for f in answer["findings"])


rig = machines(4)


@pytest.fixture
def desk(rig: Rig, tmp_path: Path) -> Iterator[RigDesk]:
    with RigDesk(rig, tmp_path) as desk:
        yield desk


@contextlib.contextmanager
def filtered(rig: Rig, rules: dict[int, list[Sequence[str]]]) -> Iterator[None]:
    """Packet-filter rules by node, taken away again."""
    try:
        for number, lines in rules.items():
            for line in lines:
                rig.run(number, ["iptables", "-A", *line])
        yield
    finally:
        for number in rules:
            rig.run(number, ["iptables", "-F"])


def programs_left(rig: Rig, number: int) -> list[str]:
    """The node program's processes and their children on a node."""
    return [line[:80] for line in lines_of(rig, number) if "bundles" in line or "allranks-probe" in line]


def nothing_is_left(rig: Rig) -> None:
    """A program that has said its last word may still be on its way out."""

    def left() -> list[str]:
        return [line for number in (1, 2, 3, 4) for line in programs_left(rig, number)]

    until(lambda: not left(), left, 60, 0.2)


# ---- a healthy network ----


@pytest.mark.training
def test_a_healthy_network_passes_to_the_checked_sum(desk: RigDesk, rig: Rig) -> None:
    answer = probe(desk)
    # Not `warn`: how fast 16 processes on the few cores of this machine exchange bytes is chance.
    assert (answer["code"], said(answer, "note", "unknown", "block")) == (0, set()), text(answer)
    assert {i["interface"] for i in answer["interfaces"].values()} == {"eth0"}
    proved = {f["where"]["node"] for f in answer["findings"] if f["id"] == "interface-proved"}
    assert proved == {"node2", "node3", "node4"}
    assert len(answer["links"]) == 12 and answer["all_pairs_measured"]
    assert all(link["bytes_per_second"] > 1e6 and link["latency_seconds"] > 0 for link in answer["links"])
    (collective,) = answer["collectives"]
    assert collective["passed"] and collective["ranks"] == 4 and collective["bytes_per_second"] > 1e5
    assert answer["environment"]["all"]["GLOO_SOCKET_IFNAME"] == "eth0"
    nothing_is_left(rig)


# ---- the head's port ----


@pytest.mark.parametrize(
    ("target", "seen"), [(["-j", "DROP"], "packets are dropped"), (RESET, "refuses the connection")]
)
def test_a_port_that_is_dropped_and_one_that_is_refused_are_told_apart(
    desk: RigDesk, rig: Rig, target: list[str], seen: str
) -> None:
    with filtered(rig, {1: [["INPUT", *RENDEZVOUS, *target]]}):
        answer = connections(desk)
    assert said(answer) == {("head-unreachable", "node1")} and answer["code"] == 1
    assert seen in text(answer) and "none of the other 3 nodes" in text(answer)


def test_one_node_that_is_kept_from_the_head_is_named(desk: RigDesk, rig: Rig) -> None:
    with filtered(rig, {1: [["INPUT", "-s", address(3), *RENDEZVOUS, "-j", "DROP"]]}):
        answer = connections(desk)
    assert said(answer) == {("head-unreachable", "node3")}


def test_names_that_lead_elsewhere(desk: RigDesk, rig: Rig) -> None:
    """To another node, to nowhere, and to the node itself, as Debian's installer writes it."""
    alias = f"Host head\n  HostName {address(1)}\n"
    config = desk.folder / ".ssh" / "config"
    config.write_text(alias + config.read_text())
    nodes = {"head": "head", **{f"node{n}": address(n) for n in (2, 3, 4)}}
    places = {1: address(1), 2: address(4), 3: "127.0.1.1", 4: "10.77.99.99"}
    before = {n: rig.run(n, ["cat", "/etc/hosts"]).stdout for n in places}
    try:
        for number, place in places.items():
            rig.run(number, ["tee", "-a", "/etc/hosts"], input=f"{place} head\n".encode())
        answer = connections(desk, nodes=nodes)
    finally:
        for number, content in before.items():
            rig.run(number, ["tee", "/etc/hosts"], input=content)
    blocked = said(answer, "block")
    assert {
        ("head-unreachable", "node2"),
        ("name-loops-back", "node3"),
        ("head-unreachable", "node4"),
    } <= blocked
    assert not {where for _, where in blocked} & {"head"}
    assert f"head does not have that address, it has {address(1)}" in text(answer)
    assert "127.0.1.1 here" in text(answer)


# ---- the data's ports ----


def test_data_ports_closed_on_one_node_while_the_rendezvous_works(desk: RigDesk, rig: Rig) -> None:
    with filtered(rig, {3: [LET_IN, ["INPUT", *DATA, "-j", "DROP"]]}):
        answer = connections(desk)
    assert said(answer) == {("data-ports-closed", "node3")}
    assert "dropped 3" in text(answer)


def test_data_ports_closed_everywhere(desk: RigDesk, rig: Rig) -> None:
    with filtered(rig, {n: [LET_IN, ["INPUT", *DATA, *RESET]] for n in (1, 2, 3, 4)}):
        answer = connections(desk)
    assert said(answer) == {("data-ports-closed", None)} and "refused 12" in text(answer)


def test_one_pair_that_does_not_meet_is_a_link_and_no_node(desk: RigDesk, rig: Rig) -> None:
    with filtered(rig, {2: [["INPUT", "-s", address(4), *DATA, "-j", "DROP"]]}):
        answer = connections(desk)
    assert said(answer) == {("link-broken", "node4")} and "node2" in text(answer)


def test_a_path_that_loses_large_packets(desk: RigDesk, rig: Rig) -> None:
    large = ["INPUT", *ANY, "-m", "length", "--length", "900:65535", "-j", "DROP"]
    with filtered(rig, {4: [large]}):
        answer = probe(desk, "--no-torch", "--seconds", 0.2)
    # 0.2 s a link on two processors: another link may look slow beside the others
    assert {name for name, _ in said(answer)} - {"link-slow"} == {"link-stalls"}, text(answer)
    assert {f["where"]["node"] for f in answer["findings"] if f["id"] == "link-stalls"} == {
        "node1",
        "node2",
        "node3",
    }


# ---- nodes and links ----


@contextlib.contextmanager
def shaped(rig: Rig, **slower: str) -> Iterator[None]:
    """Every node sends at 300 Mb/s at most, or at what is said of it: far below what this machine's cores carry, so
    that a healthy link is as fast as the next one however busy they are."""
    rates = {number: slower.get(f"node{number}", "300mbit") for number in (1, 2, 3, 4)}
    device = ("dev", "eth0", "root")
    rest = ("burst", "256kb", "latency", "100ms")
    try:
        for number, rate in rates.items():
            rig.run(number, ["tc", "qdisc", "add", *device, "tbf", "rate", rate, *rest])
        yield
    finally:
        for number in rates:
            rig.run(number, ["tc", "qdisc", "del", *device], check=False)


def test_a_slow_node_is_named_and_its_neighbours_are_not(desk: RigDesk, rig: Rig) -> None:
    with shaped(rig, node3="30mbit"):
        answer = measured(desk)
    assert said(answer) == {("link-slow", "node3")} and answer["code"] == 0, text(answer)
    assert "out, the others' usually" in text(answer)
    rates = {(k["from"], k["to"]): k["bytes_per_second"] * 8 for k in answer["links"]}
    assert 10e6 < rates["node3", "node1"] < 60e6 < rates["node1", "node3"]


def test_one_slow_link_is_a_link_and_no_node(desk: RigDesk, rig: Rig) -> None:
    """Half of the large packets that node 2 sends to node 4 are lost: TCP goes on, slowly."""
    large = ["-s", address(2), *ANY, "-m", "length", "--length", "500:65535"]
    lossy = [*large, "-m", "statistic", "--mode", "random", "--probability", "0.5", "-j", "DROP"]
    with shaped(rig), filtered(rig, {4: [["INPUT", *lossy]]}):
        answer = measured(desk)
    assert said(answer) == {("link-slow", "node2")}, text(answer)
    assert "to node4 it carries" in text(answer)


def test_an_interface_that_is_missing_and_one_that_leads_nowhere(desk: RigDesk, rig: Rig) -> None:
    for number in (2, 3):
        rig.run(number, ["ip", "link", "add", "docker0", "up", "type", "veth", "peer", "name", "inside"])
        rig.run(number, ["ip", "addr", "add", "172.17.0.1/16", "dev", "docker0"])
        rig.run(number, ["ip", "link", "set", "inside", "up"])
    nodes = [
        {"name": "node1", "address": address(1)},
        {"name": "node2", "address": address(2), "interface": "docker0"},
        {"name": "node3", "address": address(3)},
        {"name": "node4", "address": address(4), "interface": "ib0"},
    ]
    try:
        answer = connections(desk, nodes=nodes)
    finally:
        for number in (2, 3):
            rig.run(number, ["ip", "link", "del", "docker0"])
    assert said(answer) == {("interface-wrong", "node2"), ("interface-unusable", "node4")}, text(answer)
    assert "there is no interface ib0" in text(answer) and "its way to node1 is eth0" in text(answer)


def test_a_clock_that_is_off(desk: RigDesk, rig: Rig) -> None:
    """The node's python3 tells another time: the kernel's clock is one for all nodes of the rig."""
    ssh = ["ssh", "-F", str(STATE / "ssh_config"), "node3", "command -v python3"]
    place = subprocess.run(rig.from_ctl(ssh), check=True, capture_output=True, text=True).stdout.strip()
    wrapper = f"""#!/bin/bash
code="import time; _t = time.time; time.time = lambda: _t() + 90
$4"
exec {sys.executable} "$1" "$2" "$3" "$code" "${{@:5}}"
"""
    before = rig.run(3, ["cat", place]).stdout
    try:
        rig.run(3, ["tee", place], input=wrapper.encode())
        answer = connections(desk)
    finally:
        rig.run(3, ["tee", place], input=before)
    assert said(answer) == {("clock-differs", "node3")} and "1 min 30 s ahead of node1's" in text(answer)


# ---- the collective ----


@pytest.mark.training
def test_another_torch_on_one_node_is_named(desk: RigDesk, rig: Rig) -> None:
    """The same command on every node; on node 4 it runs a torch that calls itself another version."""
    other = "${2/import torch/import torch; torch.__version__ = str(2.11); import torch}"
    for number in (1, 2, 3, 4):
        code = other if number == 4 else "$2"
        script = f'#!/bin/bash\nexec {sys.executable} -c "{code}"\n'
        rig.run(number, ["tee", "/usr/local/bin/trainpy"], input=script.encode())
        rig.run(number, ["chmod", "755", "/usr/local/bin/trainpy"])
    answer = probe(desk, "--seconds", 0, environment={"python": "/usr/local/bin/trainpy"})
    assert said(answer) == {("versions-differ", "node4")}, text(answer)
    assert "torch 2.11, most nodes' 2.13.0" in text(answer)


SHUT = """#!/bin/bash
iptables -A INPUT -p tcp --dport 39500 -j DROP
exec %s "$@"
"""
"""A training environment's Python that closes the head's port when it starts: TCP has passed by then."""


@pytest.mark.training
def test_a_collective_that_hangs_is_ended_and_leaves_nothing(desk: RigDesk, rig: Rig) -> None:
    for number in (1, 2, 3, 4):
        script = SHUT % sys.executable if number == 1 else f'#!/bin/bash\nexec {sys.executable} "$@"\n'
        rig.run(number, ["tee", "/usr/local/bin/trainpy"], input=script.encode())
        rig.run(number, ["chmod", "755", "/usr/local/bin/trainpy"])
    try:
        answer = probe(desk, "--seconds", 0, "--limit", 5, environment={"python": "/usr/local/bin/trainpy"})
    finally:
        rig.run(1, ["iptables", "-F"])
    assert said(answer) == {("collective-failed", None)}, text(answer)
    assert "4 ranks reached only `computed`: it waits for the others at the rendezvous" in text(answer)
    nothing_is_left(rig)


@pytest.mark.training
def test_a_controller_that_is_killed_leaves_nothing_on_the_nodes(desk: RigDesk, rig: Rig) -> None:
    """In the middle of a collective that waits: the ranks end with the connection that asked for them."""
    train = {"command": ["/root/train.py"]}
    controller = desk.start("probe", desk.file(train=train), "--json", "--seconds", 0)

    def begun() -> bool:
        assert controller.poll() is None
        return any("allranks-probe" in line for line in lines_of(rig, 3))

    until(begun, seconds=60, every=0.1)
    controller.kill()
    nothing_is_left(rig)
