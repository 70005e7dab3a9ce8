"""The faults of `benchmarks/faults.py`: how each is made on the rig, and what is right to say of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "rig"))
from rig import Rig

NODE = 2
"""The node that the fault comes to (its place in node1 … node3); the head is node1."""

SMALL_DISK = "/run/small-disk"
_V1 = Path("/sys/fs/cgroup/memory").is_dir()
OOM_GROUP = "/sys/fs/cgroup/memory/allranks-bench" if _V1 else "/sys/fs/cgroup/allranks-bench"
OOM_LIMIT = "memory.limit_in_bytes" if _V1 else "memory.max"


def supervisor_pid(rig: Rig, run: dict[str, Any], number: int) -> str:
    path = f"{run['directory']}/nodes/node{number}/supervisor.json"
    return str(json.loads(rig.run(number, ["cat", path]).stdout)["pid"])


def without_power(rig: Rig, run: dict[str, Any]) -> None:
    """The cable first: a machine without power sends no FIN for its sockets, a killed namespace does."""
    rig.link(NODE, False)
    rig.power_off(NODE)


def on_node(*command: str) -> Callable[[Rig, dict[str, Any]], None]:
    return lambda rig, run: rig.run(NODE, list(command)) and None


@dataclass(frozen=True)
class Fault:
    """`inject` is None where the script does it itself. `rank` says whether a rank is to be named, or the node
    alone, and `node` where it lies; `causes` are the right ones. `goes_on`: the run must not be disturbed. `limit` is
    the promised time."""

    causes: tuple[str, ...]
    limit: float
    inject: Callable[[Rig, dict[str, Any]], None] | None = None
    rank: bool = True
    goes_on: bool = False
    core: bool = False
    phases: tuple[str, ...] = ("steady",)
    before: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    plain: bool = True
    node: int = NODE


LOSE = ("iptables", "-A", "OUTPUT", "-o", "eth0")
ALL = ("start", "first", "steady", "saving")
STALL = ("rank-holds-up", "rank-silent", "collective-timeout-straggler", "no-progress")
LOST = ("node-lost", "node-failure", "lease-lost", "peer-node-network-broken", "supervisor-lost")
FAULTS: dict[str, Fault] = {
    "sigkill": Fault(("rank-sigkilled", "cpu-oom-killed"), 2.0, core=True, phases=ALL),
    "exception": Fault(("rank-crashed-first",), 2.0, core=True, phases=ALL),
    "exit0": Fault(("rank-exited-early",), 15.0, core=True, phases=("first", "steady")),
    "sigstop": Fault(STALL, 15.0, core=True, phases=("steady", "saving")),
    "mismatch": Fault((*STALL, "collective-mismatch"), 15.0, core=True),
    "power-off": Fault(LOST, 15.0, without_power, rank=False, core=True, phases=ALL),
    "sleep": Fault(STALL, 15.0),
    "loader": Fault(STALL, 15.0),
    "oom": Fault(
        ("cpu-oom-killed", "rank-sigkilled"),
        15.0,
        before=(f"mkdir -p {OOM_GROUP} && echo 1G > {OOM_GROUP}/{OOM_LIMIT}",),
        env={"OOM_GROUP": OOM_GROUP},
    ),
    "disk": Fault(
        ("disk-full-checkpoint",),
        2.0,
        before=(f"mkdir -p {SMALL_DISK} && mount -t tmpfs -o size=2m small {SMALL_DISK}",),
        env={"FULL_DISK": SMALL_DISK},
    ),
    "link-down": Fault(
        LOST, 15.0, lambda rig, run: rig.link(NODE, False), rank=False, phases=("steady", "saving")
    ),
    "one-way": Fault(LOST, 15.0, on_node("iptables", "-A", "OUTPUT", "-o", "eth0", "-j", "DROP"), rank=False),
    "ports-blocked": Fault(
        ("data-ports-closed", "data-ports-blocked", "gloo-connect-full-mesh", *STALL, *LOST),
        60.0,
        rank=False,
        phases=("start",),
        before=("iptables -A INPUT -p tcp --syn --dport 1024:65535 -j REJECT",),
    ),
    "slow-link": Fault(
        (),
        0.0,
        # 200 packets a second: netem is not in every kernel, the match is.
        on_node(
            *LOSE, "-m", "hashlimit", "--hashlimit-above", "200/s", "--hashlimit-name", "slow", "-j", "DROP"
        ),
        goes_on=True,
    ),
    "packet-loss": Fault(
        (),
        0.0,
        on_node(*LOSE, "-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"),
        goes_on=True,
    ),
    "supervisor": Fault(
        LOST,
        15.0,
        lambda rig, run: rig.run(NODE, ["kill", "-9", supervisor_pid(rig, run, NODE)]) and None,
        rank=False,
        plain=False,
    ),
    "controller": Fault((), 0.0, lambda rig, run: run["controller"].kill(), goes_on=True, plain=False),
    "frozen-output": Fault(
        (*STALL, "nfs-stale-or-io-error"),
        15.0,
        lambda rig, run: rig.run(1, ["fsfreeze", "-f", SMALL_DISK]) and None,
        rank=False,
        phases=("saving",),
        env={"SAVE_TO": SMALL_DISK},
        node=1,
    ),
}
