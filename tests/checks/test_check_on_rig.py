"""`allranks check` over real SSH: nodes with an nvidia-smi of our own, one of which hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded.parts import smi
from tests.rig.rig import STATE, Rig, address, only_one

pytestmark = pytest.mark.rig
ROOT = Path(__file__).resolve().parents[2]

FAKE = """#!/bin/sh
case "$*" in
  "-q -x") %s ;;
  "topo -m") printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV12\\nGPU1\\tNV12\\t X \\n' ;;
esac
"""
RUN = """
name: rig
nodes: {%s}
gpus: {count: 2, model: A100-SXM4-80GB}
user: root
environment: {python: %s}
env: {TORCH_EXTENSIONS_DIR: /root/operators}
train: {command: [/root/train.py]}
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(3) as rig:
        yield rig


def put(rig: Rig, number: int, path: str, text: str, mode: str = "755") -> None:
    rig.run(number, ["tee", path], input=text.encode())
    rig.run(number, ["chmod", mode, path])


def checked(rig: Rig, folder: Path) -> tuple[int, list[dict]]:
    (folder / ".ssh").mkdir()
    for name in ("known_hosts", "ssh_config"):
        text = (STATE / name).read_text()
        (folder / ".ssh" / name.replace("ssh_config", "config")).write_text(text)
    nodes = ", ".join(f"node{number}: {address(number)}" for number in (1, 2, 3))
    (folder / "run.yaml").write_text(RUN % (nodes, sys.executable))
    done = subprocess.run(
        rig.from_ctl(
            [
                str(Path(sys.executable).parent / "allranks"),
                *("check", str(folder / "run.yaml"), "--json"),
                *("--passing", str(folder / "passing"), "--failing", str(folder / "failing")),
            ]
        ),
        env={**os.environ, "HOME": str(folder), "ALLRANKS_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def test_faults_of_gpus_come_through_ssh(rig: Rig, tmp_path: Path) -> None:
    healthy, sick = smi(2, 1), smi(2, 2).replace("<dram_uncorrectable>0", "<dram_uncorrectable>3", 1)
    for number, body in ((1, "cat /etc/smi.xml"), (2, "cat /etc/smi.xml"), (3, "sleep 300")):
        put(rig, number, "/usr/local/bin/nvidia-smi", FAKE % body)
        put(rig, number, "/etc/smi.xml", sick if number == 2 else healthy, "644")
        put(rig, number, "/root/train.py", f"print({number == 3})\n")
    lock = "/root/operators/fused_adam/lock"
    rig.run(1, ["mkdir", "-p", str(Path(lock).parent)])
    put(rig, 1, lock, "", "644")
    code, findings = checked(rig, tmp_path)
    by_node = {}
    for finding in findings:
        if finding["verdict"] in ("block", "unknown"):
            by_node.setdefault(finding["where"]["node"], []).append(finding)
    assert code == 1
    assert "node1" not in by_node or {f["id"] for f in by_node["node1"]} <= {"torch-without-cuda"}
    ecc = [f for f in by_node["node2"] if f["id"] == "gpu-ecc"]
    assert len(ecc) == 1 and "3 uncorrectable memory errors" in ecc[0]["saw"] and ecc[0]["where"]["gpu"] == 0
    hung = [f for f in by_node["node3"] if f["id"] == "unreadable-facts"]
    assert any("nvidia-smi did not answer within 15 s" in f["saw"] for f in hung)
    assert not [f for f in findings if f["id"] in ("one-host-twice", "route-missing", "unreadable-node")]
    (stale,) = [f for f in findings if f["id"] == "op-build-locked"]
    assert (
        stale["where"]["node"] == "node1"
        and lock in stale["saw"]
        and "no process has it open" in stale["saw"]
    )
    assert stale["fix"] == f"rm {lock} on node1"
    (other,) = [f for f in findings if f["id"] == "code-differs"]
    assert other["where"]["node"] == "node3" and "differs in 1 file: train.py" in other["saw"]
    failing = (tmp_path / "failing").read_text()
    assert f"{address(2)} slots=2  # node2 gpu-ecc" in failing and f"{address(3)} slots=2" in failing
    assert len((failing + (tmp_path / "passing").read_text()).splitlines()) == 3
    deadline = time.monotonic() + 60
    while hangs := set(living(rig, 3)) & {"nvidia-smi", "sleep"}:
        assert time.monotonic() < deadline, f"what hung was not taken along: {hangs}"
        time.sleep(0.2)


def living(rig: Rig, number: int) -> list[str]:
    """The names of a node's processes; one may end while they are read."""
    return rig.run(number, ["sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null; true"]).stdout.decode().split()
