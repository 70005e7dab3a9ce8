"""The SSH transport against real sshds: host keys, and one name for each way in which a node fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
from rig import STATE, Rig, address, only_one

pytestmark = pytest.mark.rig
ASK = Path(__file__).parent / "ask.py"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(4) as rig:
        yield rig


def ask(rig: Rig, nodes: list[dict], argv: list[str], **more) -> dict[str, dict]:
    wanted = {
        "known_hosts": str(STATE / "known_hosts"),
        "config": str(STATE / "ssh_config"),
        "nodes": nodes,
        "argv": argv,
        **more,
    }
    done = subprocess.run(
        rig.from_ctl([sys.executable, str(ASK)]),
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return {answer["node"]: answer for answer in json.loads(done.stdout)}


def node(number: int, **more) -> dict:
    return {"name": f"node{number}", "address": address(number), **more}


def test_hostile_words_arrive_as_they_are(rig: Rig) -> None:
    words = ["a b", "$HOME", "`id`", "x;y", "'\"", "*", "", "-n", "new\nline"]
    script = "import sys, json; print(json.dumps([sys.argv[1:], sys.stdin.read()]))"
    answer = ask(rig, [node(1)], ["python3", "-c", script, *words])["node1"]
    assert json.loads(answer["out"]) == [words, "in\n"]


def test_an_unknown_host_key_is_refused_with_its_fingerprint(rig: Rig, tmp_path: Path) -> None:
    empty = tmp_path / "known"
    answer = ask(rig, [node(1)], ["true"], known_hosts=str(empty))["node1"]
    assert answer["cause"] == "host-key-unknown"
    assert "SHA256:" in answer["text"] and "--accept-new-hosts" in answer["text"]
    assert not empty.exists()


def test_a_new_host_key_is_pinned_once_and_then_holds(rig: Rig, tmp_path: Path) -> None:
    known = tmp_path / "known"
    first = ask(rig, [node(1)], ["hostname"], known_hosts=str(known), accept_new=True)["node1"]
    assert first["out"] == "node1\n"
    again = ask(rig, [node(1)], ["hostname"], known_hosts=str(known))["node1"]
    assert again["out"] == "node1\n"
    assert len(known.read_text().splitlines()) == 1


def test_a_changed_host_key_blocks_even_when_new_ones_are_accepted(rig: Rig, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    known = tmp_path / "known"
    known.write_text(f"{address(1)} {' '.join(other.with_suffix('.pub').read_text().split()[:2])}\n")
    answer = ask(rig, [node(1)], ["true"], known_hosts=str(known), accept_new=True)["node1"]
    assert answer["cause"] == "host-key-changed"


def test_each_failure_has_its_name_and_the_others_go_on(rig: Rig) -> None:
    rig.run(2, ["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "22", "-j", "DROP"])
    rig.run(
        3,
        [
            "iptables",
            "-A",
            "INPUT",
            "-p",
            "tcp",
            "--dport",
            "22",
            "-j",
            "REJECT",
            "--reject-with",
            "tcp-reset",
        ],
    )
    hung = subprocess.Popen(
        rig.inside(
            4, ["python3", "-c", "import socket,time;s=socket.create_server(('',2022));time.sleep(90)"]
        )
    )
    try:
        nodes = [
            node(1),
            node(2),
            node(3),
            node(4, port=2022),
            {"name": "nobody", "address": "no-such-host.invalid"},
        ]
        answers = ask(rig, nodes, ["hostname"])
    finally:
        hung.kill()
        hung.wait()
        for number in (2, 3):
            rig.run(number, ["iptables", "-F", "INPUT"])
    assert answers["node1"]["out"] == "node1\n"
    assert {name: answers[name].get("cause") for name in ("node2", "node3", "node4", "nobody")} == {
        "node2": "timeout",
        "node3": "refused",
        "node4": "login-timeout",
        "nobody": "unknown-name",
    }
