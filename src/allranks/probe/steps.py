"""The collectives of a probe, in order: which ranks, which backend, which environment. Pure.

On GPUs they climb from TCP to shared memory, P2P and InfiniBand, and the fastest that passes is proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from allranks.probe.results import Collective
from allranks.spec import Run

CPU_BYTES, GPU_BYTES = 8 << 20, 256 << 20
"""Summed at once. 256 MiB is where NCCL's bandwidth has come to its height (nccl-tests' curves flatten from 64
MiB on); on processors 8 MiB take a tenth of a second over 10 Gb/s already."""

OFF = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
TCP_FABRICS = ("tcp", "socket", "ethernet")
LADDER = (
    ("tcp", ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")),
    ("shared-memory", ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE")),
    ("p2p", ("NCCL_IB_DISABLE",)),
    ("infiniband", ()),
)
"""What stays switched off at each step. NCCL's own order between local GPUs is P2P, shared memory, network; between
nodes InfiniBand (or RoCE), then sockets (NCCL user guide, the three variables)."""


@dataclass(frozen=True)
class Step:
    """One collective: a rank a node (`each_node`), or all ranks; `environment` is added to the ranks' own.

    `rung` says whether it is one of the ladder, of which the fastest is proposed; `speed` whether each rank also times
    its own device before it joins."""

    name: str
    each_node: bool
    backend: str
    bytes: int
    environment: Mapping[str, str] = field(default_factory=dict)
    rung: bool = False
    speed: bool = False


def steps(run: Run, on_gpus: bool, infiniband: bool) -> list[Step]:
    """From the least that can work to the most. What the user set in `env` is left as it is in every step. Every
    device is timed once: in the first step that has all ranks."""
    found = collectives(run, on_gpus, infiniband)
    everybody = next((n for n, step in enumerate(found) if not step.each_node), 0)
    return [replace(step, speed=n == everybody) for n, step in enumerate(found)]


def collectives(run: Run, on_gpus: bool, infiniband: bool) -> list[Step]:
    several = max((node.gpus for node in run.cluster.nodes), default=1) > 1
    if not on_gpus:
        found = [Step("one rank per node", True, "gloo", CPU_BYTES)]
        return found + ([Step("all ranks", False, "gloo", CPU_BYTES)] if several else [])
    found = [Step("one rank per node", True, "nccl", GPU_BYTES, without(run, OFF))]
    for name, off in LADDER:
        if name in ("shared-memory", "p2p") and not several:
            continue
        if name == "infiniband" and (not infiniband or run.network.fabric in TCP_FABRICS):
            continue
        found.append(Step(name, False, "nccl", GPU_BYTES, without(run, {key: "1" for key in off}), rung=True))
    return found


def without(run: Run, environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what the user set for all nodes or for one."""
    said = {*run.env, *(name for node in run.cluster.nodes for name, _ in node.env)}
    return {name: value for name, value in environment.items() if name not in said}


def proposed(collectives: Sequence[Collective]) -> Collective | None:
    """The fastest rung that passed; of two within 5 % the later one, which has less switched off. None where the
    ladder was not climbed."""
    best: Collective | None = None
    for one in collectives:
        rate = one.bytes_per_second
        if one.name not in [name for name, _ in LADDER] or rate is None:
            continue
        if best is None or rate >= 0.95 * (best.bytes_per_second or 0.0):
            best = one
    return best
