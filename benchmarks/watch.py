"""What watching costs at 1,000 nodes of 8 ranks, how soon it sees a fault, and how often it is wrong.

    python -m benchmarks watch

All runs are simulated (benchmarks/_simulated.py): each rank beats once a second and its beats are late; steps,
data waits, losses and memory have spread; runs evaluate and save.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterable

from allranks.core import Event, Finding, event_from_json
from allranks.monitor import Watch
from benchmarks._simulated import Fault, Shape, events

TITLE = "Watching a run"
HEALTHY_RUNS = 200
FAULTY_RUNS = 60


def follow(stream: Iterable[Event], until: float = 0.0) -> list[tuple[float, Finding]]:
    """Everything of warn or worse, with its time, one tick a second."""
    watch, said, now = Watch(), [], 0.0
    for event in stream:
        while now + 1.0 <= event.at:
            now += 1.0
            said += [(now, f) for f in watch.tick(now)]
        said += [(event.at, f) for f in watch.add(event)]
    while now + 1.0 <= until:
        now += 1.0
        said += [(now, f) for f in watch.tick(now)]
    assert not watch.faulty, watch.faulty
    return [(at, f) for at, f in said if isinstance(f, Finding) and f.verdict not in ("ok", "note")]


def load(nodes: int, per_node: int, seconds: float) -> tuple[float, float]:
    """(CPU seconds of reading and judging a second of that run's events, microseconds an event)."""
    lines = [e.as_line() for e in events(Shape(nodes, per_node, seconds=seconds, load_seconds=2.0, seed=3))]
    watch, now, began = Watch(), 0.0, time.process_time()
    for line in lines:
        event = event_from_json(json.loads(line))
        if event.at >= now + 1.0:
            now = event.at
            watch.tick(now)
        watch.add(event)
    spent = time.process_time() - began
    return spent / seconds, spent / len(lines) * 1e6


def healthy(seed: int) -> Shape:
    pick = random.Random(seed)
    return Shape(
        nodes=pick.choice([1, 3, 4]),
        per_node=pick.choice([1, 2, 8]),
        seconds=600.0,
        step_seconds=pick.choice([0.2, 1.0, 4.0, 12.0]),
        noise=pick.choice([0.05, 0.2, 0.4]),
        late=pick.choice([0.3, 1.5, 4.0]),
        load_seconds=pick.choice([5.0, 40.0]),
        first_step=pick.choice([2.0, 10.0]),
        evaluate_every=pick.choice([0, 15]),
        evaluate_seconds=pick.choice([3.0, 30.0]),
        save_every=pick.choice([0, 20]),
        save_seconds=pick.choice([1.0, 25.0]),
        data_share=pick.choice([0.0, 0.03, 0.2]),
        seed=seed,
    )


def detect(kind: str, wanted: str, every: int = 0) -> tuple[list[float], int]:
    """(seconds until the finding `wanted`, in how many runs it named the right rank) over the faulty runs, which
    evaluate every so many steps."""
    delays, right = [], 0
    for seed in range(FAULTY_RUNS):
        pick = random.Random(seed)
        fault = Fault(kind, pick.uniform(120.0, 160.0), pick.randrange(1, 6), 0.3)
        step = pick.choice([0.2, 1.0])
        shape = Shape(3, 2, 300.0, step, pick.choice([0.05, 0.2]), faults=[fault], seed=seed)
        shape.evaluate_every, shape.save_every = every, 2 * every
        first = next(((at, f) for at, f in follow(events(shape)) if f.id == wanted), None)
        if first is not None:
            delays.append(first[0] - fault.at)
            right += first[1].where.rank == fault.rank
    return delays, right


def measure() -> str:
    rows = [f"simulated, one core; {HEALTHY_RUNS} healthy and {FAULTY_RUNS} faulty runs a kind\n"]
    for nodes, per_node in ((3, 8), (1000, 8)):
        share, each = load(nodes, per_node, 20.0 if nodes > 100 else 120.0)
        rows.append(
            f"- {nodes:,} nodes × {per_node} ranks, one beat a second each: {share:.1%} of a core "
            f"(reading the JSON included), {each:.0f} µs an event"
        )
    alarms = [f for seed in range(HEALTHY_RUNS) for _, f in follow(events(healthy(seed)))]
    rows.append(f"- {HEALTHY_RUNS} healthy noisy runs of 10 minutes: {len(alarms)} alarms")
    for kind, wanted, every, what in (
        ("freeze", "rank-silent", 40, "a rank that is frozen (SIGSTOP), steps, evaluations and saves"),
        ("hang", "no-progress", 0, "all ranks hang in a collective between steps"),
        ("hang", "no-progress", 40, "the same in runs that spend most of their time evaluating and saving"),
        ("slow", "straggler", 0, "a rank that waits 0.3 s longer for its data"),
    ):
        delays, right = detect(kind, wanted, every)
        found = f"seen in {len(delays)} of {FAULTY_RUNS}"
        times = f"after {statistics.median(delays):.0f} s (worst {max(delays):.0f} s)" if delays else ""
        named = "" if kind == "hang" else f", the right rank named in {right}"
        rows.append(f"- {what}: {found} {times}{named}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(measure())
