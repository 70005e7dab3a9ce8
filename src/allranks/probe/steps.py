"""The collectives of a probe, in order: which ranks, which backend, which environment. Pure.

On GPUs they go from TCP to shared memory, P2P and InfiniBand; the fastest that passes is proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from allranks.probe.results import Collective
from allranks.spec import Run

CPU_BYTES, GPU_BYTES = 8 << 20, 256 << 20
"""Bytes that one all-reduce sums. With 256 MiB NCCL reaches its full bandwidth (nccl-tests' curves flatten from 64 MiB
on). On CPUs 8 MiB already take 0.1 s over 10 Gb/s."""

TCP_FABRICS = ("tcp", "socket", "ethernet")
LADDER = (
    ("tcp", ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")),
    ("shared-memory", ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE")),
    ("p2p", ("NCCL_IB_DISABLE",)),
    ("infiniband", ()),
)
"""The variables that switch transports off in each step. Between local GPUs NCCL prefers P2P, then shared memory, then
the network; between nodes InfiniBand (or RoCE), then sockets (NCCL user guide, the three variables)."""


@dataclass(frozen=True)
class Step:
    """One collective: one rank per node (`each_node`), or all ranks; `environment` is added to the ranks' own. With
    `speed` each rank also times its own device before it joins."""

    name: str
    each_node: bool
    backend: str
    bytes: int
    environment: Mapping[str, str] = field(default_factory=dict)
    speed: bool = False


def steps(run: Run, on_gpus: bool, infiniband: bool) -> list[Step]:
    """The steps, from the simplest transport that can work to the fastest. Variables that the user sets in `env` keep
    their value in every step. Every device is timed once: in the first step that has all ranks."""
    found = collectives(run, on_gpus, infiniband)
    everybody = next((n for n, step in enumerate(found) if not step.each_node), 0)
    return [replace(step, speed=n == everybody) for n, step in enumerate(found)]


def collectives(run: Run, on_gpus: bool, infiniband: bool) -> list[Step]:
    several = max((node.gpus for node in run.cluster.nodes), default=1) > 1
    if not on_gpus:
        found = [Step("one rank per node", True, "gloo", CPU_BYTES)]
        return found + ([Step("all ranks", False, "gloo", CPU_BYTES)] if several else [])
    found = [Step("one rank per node", True, "nccl", GPU_BYTES, switched_off(run, LADDER[0][1]))]
    for name, off in LADDER:
        if name in ("shared-memory", "p2p") and not several:
            continue
        if name == "infiniband" and (not infiniband or run.network.fabric in TCP_FABRICS):
            continue
        found.append(Step(name, False, "nccl", GPU_BYTES, switched_off(run, off)))
    return found


def switched_off(run: Run, names: Sequence[str]) -> dict[str, str]:
    """These variables with the value "1", except those that the user sets for all nodes or for one node."""
    own = {*run.env, *(name for node in run.cluster.nodes for name, _ in node.env)}
    return {name: "1" for name in names if name not in own}


def of_ladder(collectives: Sequence[Collective]) -> list[Collective]:
    """The steps of `LADDER`."""
    names = [name for name, _ in LADDER]
    return [one for one in collectives if one.name in names]


def proposed(collectives: Sequence[Collective]) -> Collective | None:
    """The fastest step of the ladder that passed; of two within 5 % the later one, which has less switched off. None if
    none passed."""
    best: Collective | None = None
    for one in of_ladder(collectives):
        rate = one.bytes_per_second
        if rate is not None and (best is None or rate >= 0.95 * (best.bytes_per_second or 0.0)):
            best = one
    return best
