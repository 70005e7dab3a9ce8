"""`allranks check` over real SSH: nodes with an nvidia-smi of our own, one of which hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import until
from tests.harness.on_rig import RigDesk, machines
from tests.recorded.parts import smi
from tests.rig.rig import Rig, address

pytestmark = pytest.mark.rig

FAKE = """#!/bin/sh
case "$*" in
  "-q -x") %s ;;
  "topo -m") printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV12\\nGPU1\\tNV12\\t X \\n' ;;
esac
"""

rig = machines(3)


def put(rig: Rig, number: int, path: str, text: str, mode: str = "755") -> None:
    rig.run(number, ["tee", path], input=text.encode())
    rig.run(number, ["chmod", mode, path])


def test_faults_of_gpus_come_through_ssh(rig: Rig, tmp_path: Path) -> None:
    healthy, sick = smi(2, 1), smi(2, 2).replace("<dram_uncorrectable>0", "<dram_uncorrectable>3", 1)
    for number, body in ((1, "cat /etc/smi.xml"), (2, "cat /etc/smi.xml"), (3, "sleep 300")):
        put(rig, number, "/usr/local/bin/nvidia-smi", FAKE % body)
        put(rig, number, "/etc/smi.xml", sick if number == 2 else healthy, "644")
        rig.run(
            number, ["mkdir", "-p", "/root/job"]
        )  # alone there: the folder is compared, and /root is the user's
        put(rig, number, "/root/job/train.py", f"print({number == 3})\n")
    lock = "/root/operators/fused_adam/lock"
    rig.run(1, ["mkdir", "-p", str(Path(lock).parent)])
    put(rig, 1, lock, "", "644")
    desk = RigDesk(rig, tmp_path / "desk")
    file = desk.file(
        nodes={f"node{number}": address(number) for number in (1, 2, 3)},
        gpus={"count": 2, "model": "A100-SXM4-80GB"},
        user="root",
        env={"TORCH_EXTENSIONS_DIR": "/root/operators"},
        train={"command": ["/root/job/train.py"]},
    )
    lists = ("--passing", tmp_path / "passing", "--failing", tmp_path / "failing")
    findings = desk.json("check", file, *lists, code=1)["findings"]
    by_node = {}
    for finding in findings:
        if finding["verdict"] in ("block", "unknown"):
            by_node.setdefault(finding["where"]["node"], []).append(finding)
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
    hangs = {"nvidia-smi", "sleep"}
    until(lambda: not set(living(rig, 3)) & hangs, "what hung was not taken along", 60, 0.2)


def living(rig: Rig, number: int) -> list[str]:
    """The names of a node's processes; one may end while they are read."""
    return rig.run(number, ["sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null; true"]).stdout.decode().split()
