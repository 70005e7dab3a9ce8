"""The faults of `benchmarks/faults.py`: how each is made on the rig, and what is right to say of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rig.rig import STATE, Rig

HEAD = 1
"""The place of the head in node1 … node3; the keeper runs there, and the run's output lies there."""

OTHERS = (2, 3)
LOOP = Path(__file__).parent / "_fault_loop.py"
SMALL_DISK = "/run/small-disk"
_V1 = Path("/sys/fs/cgroup/memory").is_dir()
OOM_GROUP = f"/sys/fs/cgroup{'/memory' * _V1}/allranks-bench{STATE.name.rpartition('rig')[2]}"
OOM_LIMIT = "memory.limit_in_bytes" if _V1 else "memory.max"

Inject = Callable[[Rig, dict[str, Any], int], object]
"""Makes the fault on the node of that number. `run` is what `ps` says of it, with its `controller`."""


def kill_supervisor(rig: Rig, run: dict[str, Any], number: int) -> None:
    path = f"{run['directory']}/nodes/node{number}/supervisor.json"
    pid = json.loads(rig.run(number, ["cat", path]).stdout)["pid"]
    rig.run(number, ["kill", "-9", str(pid)])


def without_power(rig: Rig, run: dict[str, Any], number: int) -> None:
    """The cable first: a machine without power sends no FIN for its sockets, a killed namespace does."""
    rig.link(number, False)
    rig.power_off(number)


def on_node(*command: str) -> Inject:
    return lambda rig, run, number: rig.run(number, list(command))


@dataclass(frozen=True)
class Right:
    """A right statement: one of these ids or causes; with `words`, a pattern that what was seen must match; with
    `line`, naming the line of the script that holds this text."""

    ids: tuple[str, ...]
    words: str = ""
    line: str = ""

    def fits(self, data: dict[str, Any]) -> bool:
        """Whether a finding or a diagnosis, as JSON, is this statement."""
        if (data.get("id") or data.get("cause")) not in self.ids:
            return False
        said = "\n".join([str(data.get("saw") or ""), *map(str, data.get("evidence") or ())])
        where = data.get("where") or {}
        return bool(re.search(self.words, said)) and (
            not self.line or where.get("line") == line_of(self.line)
        )


def line_of(text: str) -> int:
    """The number of the line of the training script that holds `text`; 0 where none or more than one does."""
    found = [n for n, line in enumerate(LOOP.read_text().splitlines(), 1) if text in line]
    return found[0] if len(found) == 1 else 0


@dataclass(frozen=True)
class Fault:
    """`right` are the right statements of it; `inject` is None where the script makes it itself.

    It comes to one of `nodes`, which the seed draws. `rank` says whether a rank is to be named, or the node alone.
    `limit` is the promised time. `goes_on`: the run must not be disturbed; `stands`: it stands still, and does not end
    for minutes; `lost`: the keeper goes with it, and what is told of the run is told without it; `cut`: the node is
    there and cannot be heard, so it ends its ranks itself, later."""

    right: tuple[Right, ...]
    limit: float
    inject: Inject | None = None
    rank: bool = True
    goes_on: bool = False
    stands: bool = False
    lost: bool = False
    cut: bool = False
    core: bool = False
    phases: tuple[str, ...] = ("steady",)
    before: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    plain: bool = True
    nodes: tuple[int, ...] = (HEAD, *OTHERS)


def victim(fault: Fault, name: str, phase: str, seed: int, per_node: int) -> tuple[int, int]:
    """(node, rank) of a trial. Seeds after each other go round the fault's nodes, so three of them come to all."""
    nodes = random.Random(f"{name} {phase} {per_node}").sample(fault.nodes, len(fault.nodes))
    node = nodes[seed % len(nodes)]
    local = random.Random(f"{name} {phase} {per_node} {seed}").randrange(per_node)
    return node, (node - 1) * per_node + local


LOSE = ("iptables", "-A", "OUTPUT", "-o", "eth0")
ALL = ("start", "first", "steady", "saving")
UP = ("rank-holds-up", "collective-timeout-straggler")
STOPPED = (Right(("rank-silent",)), Right(UP, "stopped by a signal"))
GONE = (Right(("node-lost", "node-failure")),)
CUT_OFF = (*GONE, Right(("lease-lost", "peer-node-network-broken")))
FROZEN = (Right(("storage-frozen", "nfs-stale-or-io-error")), Right(UP, "waiting for storage"))
ON_DISK = {"SAVE_TO": SMALL_DISK}
FAULTS: dict[str, Fault] = {
    "sigkill": Fault((Right(("rank-sigkilled",)),), 2.0, core=True, phases=ALL),
    "exception": Fault(
        (Right(("rank-crashed-first",), "the label of sample 7 is -1"),), 2.0, core=True, phases=ALL
    ),
    "exit0": Fault((Right(("rank-exited-early",)),), 15.0, core=True, phases=("first", "steady")),
    "sigstop": Fault(STOPPED, 15.0, core=True, phases=("steady", "saving")),
    "mismatch": Fault(
        (
            Right(("collective-mismatch",), line="dist.broadcast("),
            Right(("rank-holds-up", "collective-differs"), " in .*, the others in "),
        ),
        15.0,
        core=True,
    ),
    "power-off": Fault(GONE, 15.0, without_power, rank=False, core=True, phases=ALL, nodes=OTHERS),
    "sleep": Fault((Right(UP, line='"sleep": lambda'),), 15.0, stands=True),
    "loader": Fault((Right((*UP, "waits-for-data"), "its data"),), 15.0, stands=True),
    "oom": Fault(
        (Right(("cpu-oom-killed",)),),
        15.0,
        before=(f"mkdir -p {OOM_GROUP} && echo 1G > {OOM_GROUP}/{OOM_LIMIT}",),
        env={"OOM_GROUP": OOM_GROUP},
    ),
    "disk": Fault(
        (Right(("disk-full-checkpoint",)),),
        2.0,
        phases=("saving",),
        env={**ON_DISK, "FULL_DISK": SMALL_DISK},
        nodes=(HEAD,),
    ),
    "link-down": Fault(
        CUT_OFF,
        15.0,
        lambda rig, run, number: rig.link(number, False),
        rank=False,
        cut=True,
        phases=("steady", "saving"),
        nodes=OTHERS,
    ),
    "one-way": Fault(
        CUT_OFF,
        15.0,
        on_node("iptables", "-A", "OUTPUT", "-o", "eth0", "-j", "DROP"),
        rank=False,
        cut=True,
        nodes=OTHERS,
    ),
    "ports-blocked": Fault(
        (Right(("data-ports-closed", "data-ports-blocked", "gloo-connect-full-mesh")),),
        60.0,
        rank=False,
        phases=("start",),
        before=("iptables -A INPUT -p tcp --syn --dport 1024:65535 -j REJECT",),
        nodes=OTHERS,
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
        (Right(("supervisor-lost",)),), 15.0, kill_supervisor, rank=False, plain=False, nodes=OTHERS
    ),
    "controller": Fault(
        (), 0.0, lambda rig, run, number: run["controller"].kill(), goes_on=True, plain=False
    ),
    "frozen-output": Fault(
        FROZEN,
        15.0,
        lambda rig, run, number: rig.run(number, ["fsfreeze", "-f", SMALL_DISK]),
        rank=False,
        stands=True,
        phases=("saving",),
        env=ON_DISK,
        nodes=(HEAD,),
    ),
    "keeper": Fault(
        (Right(("supervisor-lost",)),),
        60.0,
        kill_supervisor,
        rank=False,
        lost=True,
        plain=False,
        nodes=(HEAD,),
    ),
    "head-off": Fault(
        (Right(("node-failure",)),),
        60.0,
        without_power,
        rank=False,
        lost=True,
        plain=False,
        nodes=(HEAD,),
    ),
}
"""What cannot come to the head: a head without power, network or supervisor takes the keeper with it or cuts it off
from all others. That is another trial (`keeper`, `head-off`): the other nodes end by their leases, nobody stops them,
and the run is told as lost. Closed ports of the head close the rendezvous, and are another fault than those of data.
The run's output lies on the head, so a fault of its file system is the head's."""
