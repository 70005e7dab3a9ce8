"""Runs that never ran: the events of many ranks, with the noise of real ones, for tests and benchmarks of `watch`."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Any

from allranks.core import Event


@dataclass(frozen=True)
class Fault:
    """What goes wrong at `at`: `freeze` (SIGSTOP: the rank's beats and all steps end), `power` (of one of a node's
    ranks: its beats end, and so do the node's samples), `hang` (all steps end, beats
    go on), `slow` (from then on the rank waits `seconds` longer for each batch, and so does everybody)."""

    kind: str
    at: float
    rank: int = 0
    seconds: float = 0.0


@dataclass
class Shape:
    """A run: `noise` is the sigma of the steps' lognormal spread, `late` the longest a beat may be late, in seconds;
    ranks beat every `beat` seconds."""

    nodes: int = 3
    per_node: int = 1
    seconds: float = 300.0
    step_seconds: float = 1.0
    noise: float = 0.1
    late: float = 0.5
    beat: float = 1.0
    load_seconds: float = 20.0
    first_step: float = 8.0
    evaluate_every: int = 40
    evaluate_seconds: float = 10.0
    save_every: int = 60
    save_seconds: float = 6.0
    data_share: float = 0.03
    seed: int = 0
    faults: list[Fault] = field(default_factory=list)


class Timeline:
    """When the phases change and the steps end, for all ranks alike: collectives make them so."""

    def __init__(self, shape: Shape):
        pick = random.Random(shape.seed)
        self.phases: list[tuple[float, str]] = [(0.0, "importing")]
        self.steps: list[float] = []
        self.took: list[float] = []
        self.waits: dict[int, float] = {f.rank: f.seconds for f in shape.faults if f.kind == "slow"}
        slow_at = min((f.at for f in shape.faults if f.kind == "slow"), default=float("inf"))
        stop_at = min(
            (f.at for f in shape.faults if f.kind in ("freeze", "power", "hang")), default=float("inf")
        )
        now = 3.0 * pick.uniform(0.5, 2.0)
        for phase, seconds in (("loading", shape.load_seconds), ("preparing", 0.3 * shape.load_seconds)):
            self.phases.append((now, phase))
            now += seconds * pick.uniform(0.7, 1.6)
        self.phases.append((now, "training"))
        while now < shape.seconds:
            took = shape.step_seconds * pick.lognormvariate(0.0, shape.noise)
            took *= shape.first_step if not self.steps else (2.5 if pick.random() < 0.01 else 1.0)
            took += max(self.waits.values(), default=0.0) if now >= slow_at else 0.0
            now += took
            if now > stop_at:
                return
            self.steps.append(now)
            self.took.append(took)
            for phase, every, seconds in (
                ("evaluating", shape.evaluate_every, shape.evaluate_seconds),
                ("saving", shape.save_every, shape.save_seconds),
            ):
                if every and len(self.steps) % every == 0:
                    self.phases.append((now, phase))
                    now += seconds * pick.uniform(0.6, 1.8)
                    if now > stop_at:
                        return
                    self.phases.append((now, "training"))
        self.slow_at = slow_at

    def phase(self, at: float) -> str:
        return self.phases[bisect_right(self.phases, (at, "￿")) - 1][1]

    def step(self, at: float) -> int:
        return bisect_right(self.steps, at)


def events(shape: Shape) -> Iterator[Event]:
    """All events of all ranks in the order of their times."""
    pick = random.Random(shape.seed + 1)
    line, ranks = Timeline(shape), shape.nodes * shape.per_node
    frozen = {f.rank: f.at for f in shape.faults if f.kind in ("freeze", "power")}
    for fault in shape.faults:
        if fault.kind == "power":
            frozen[ranks + fault.rank // shape.per_node] = fault.at
    slow = {f.rank: f for f in shape.faults if f.kind == "slow"}
    for node in range(shape.nodes):
        yield Event(0.0, "supervisor", f"node-{node}", None, {"process": {"boot_id": f"b{node}"}})
    for rank in range(ranks):
        data = {
            "pid": 1000 + rank,
            "start_time": rank,
            "boot_id": f"b{rank // shape.per_node}",
            "world_size": ranks,
        }
        yield Event(0.0, "start", f"node-{rank // shape.per_node}", rank, data)
    told = [0] * ranks
    rss = [2e9 * pick.uniform(0.9, 1.1) for _ in range(ranks)]
    due = [(1.0 + shape.beat * pick.random(), rank) for rank in range(ranks)]
    due += [(5.0 + 0.1 * node, ranks + node) for node in range(shape.nodes)]  # a node's samples
    heapify(due)
    while due[0][0] < shape.seconds:
        at, rank = due[0]
        if rank >= ranks:
            heapreplace(due, (at + 5.0, rank))
            if at < frozen.get(rank, float("inf")):
                yield Event(at, "sample", f"node-{rank - ranks}", None, {"memory_total_bytes": 1 << 40})
            continue
        heapreplace(due, (at + shape.beat + pick.random() ** 4 * shape.late, rank))
        if at >= frozen.get(rank, float("inf")):
            continue
        step = line.step(at)
        steps = [_row(line, number, shape, slow.get(rank), pick) for number in range(told[rank], step)]
        told[rank] = step
        rss[rank] *= 1.0 + pick.uniform(-0.002, 0.002)
        data = {"phase": line.phase(at), "step": step, "steps": steps, "rss_bytes": int(rss[rank])}
        yield Event(at, "beat", f"node-{rank // shape.per_node}", rank, data)


def _row(line: Timeline, number: int, shape: Shape, slow: Fault | None, pick: random.Random) -> list[Any]:
    """`[step, loss, seconds, data_seconds, tokens, learning_rate]` of one rank's step."""
    wait = shape.step_seconds * shape.data_share * pick.lognormvariate(0.0, 0.5)
    if slow is not None and line.steps[number] > slow.at:
        wait += slow.seconds
    loss = 3.0 / (1.0 + number / 200.0) + pick.gauss(0.0, 0.08)
    return [number + 1, loss, line.took[number], wait, 1024, 1e-5]
