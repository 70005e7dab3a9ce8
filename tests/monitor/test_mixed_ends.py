"""The verdict over runs that end with several faults at once: `tests/monitor/said/mixed-ends.txt` has each one.

The events are drawn from a seed, some seconds apart or some tenths. What each of them means alone is the matter of
test_verdict.py and test_causes.py; here a change of a limit or of the order of judgement shows in which runs it blames
another rank or says so with another confidence.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from allranks.core import Event
from tests import said
from tests.monitor.test_verdict import beat, follow, gone, node_of, raised, started, table

SEEDS = range(240)
APART = (0.1, 0.4, 1.0, 2.1, 6.0, 31.0)
KERNEL = (
    "python invoked oom-killer: gfp_mask=0x140dca",
    "Out of memory: Killed process {pid} (python) total-vm:99kB",
    "Memory cgroup out of memory: Killed process 4242 (python)",
    "NVRM: Xid (PCI:0000:07:00): 79, pid={pid}, name=python, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:07:00): 31, pid=4242, name=other, MMU Fault",
    "nvme nvme0: I/O 12 QID 3 timeout, aborting",
)
Told = list[Event]
Part = Callable[[float, random.Random], Told]


def error(at: float, chance: random.Random) -> Told:
    kind, message = chance.choice(
        (
            ("KeyError", "'labels'"), ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB."),
            ("RuntimeError", "CUDA error: an illegal memory access was encountered"),
            ("OSError", "[Errno 28] No space left on device"),
        )
    )  # fmt: skip
    ranks = chance.choice(([chance.randrange(4)], [0, 1, 2, 3], [1, 2]))
    return [
        raised(at + number * chance.choice((0.0, 0.3, 3.0)), r, kind, message, False)
        for number, r in enumerate(ranks)
    ]


def lost_peer(at: float, chance: random.Random) -> Told:
    silent = chance.choice((None, 0, 1, 2, 3))
    return [raised(at + rank / 10, rank) for rank in range(4) if rank != silent]


def timed_out(at: float, chance: random.Random) -> Told:
    text = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE) ran for 600000 ms"
    return [
        raised(at + rank / 10, rank, "DistBackendError", text)
        for rank in range(4)
        if rank != chance.randrange(4)
    ]


def killed(at: float, chance: random.Random) -> Told:
    return [gone(at, chance.randrange(4), chance.choice((-9, -11, -15, -7, -6, 0, 1, 2, None)))]


def left(at: float, chance: random.Random) -> Told:
    rank = chance.randrange(4)
    done = Event(
        at - 0.1, "beat", node_of(rank), rank, {"phase": "done", "step": chance.choice((10, 99, 100))}
    )
    return [
        *([done] if chance.random() < 0.5 else []),
        Event(at, "end", node_of(rank), rank, {"code": 0}),
        gone(at + 0.1, rank, 0),
    ]


def tables(at: float, chance: random.Random) -> Told:
    code = chance.choice((1, -9, -15))
    rows = [(rank, chance.choice((code, -15))) for rank in range(4)]
    return [table(at + place, node, *rows[2 * place : 2 * place + 2]) for place, node in enumerate("ab")]


def kernel(at: float, chance: random.Random) -> Told:
    lines = [one.format(pid=10 + chance.randrange(4)) for one in chance.sample(KERNEL, chance.choice((1, 2)))]
    data = chance.choice(({"lines": lines}, {"lines": lines}, {"lines": [], "why": "Permission denied"}))
    return [Event(at, "kernel", chance.choice("ab"), None, data)]


def node(at: float, chance: random.Random) -> Told:
    kind, why = chance.choice(
        (
            ("lost", "silent"),
            ("lost", "closed"),
            ("lease-lost", "no word of the keeper for 30 s"),
            ("stopping", "the run failed"),
        )
    )
    return [Event(at, kind, name, None, {"why": why}) for name in chance.choice(("a", "b", "ab"))]


def phases(at: float, chance: random.Random) -> Told:
    phase = chance.choice(("evaluating", "saving", "preparing", "compiling", "training"))
    return [beat(at, chance.randrange(4), phase)]


PARTS: tuple[Part, ...] = (error, lost_peer, timed_out, killed, left, tables, kernel, node, phases)


def events_of(seed: int) -> tuple[str, Told, float]:
    chance = random.Random(seed)
    chosen = [PARTS[seed % len(PARTS)], *chance.choices(PARTS, k=chance.choice((1, 2, 2, 3)))]
    chance.shuffle(chosen)
    at, told = 20.0, [*started()]
    for part in chosen:
        told += part(at, chance)
        at += chance.choice(APART)
    return (
        ", ".join(part.__name__ for part in chosen),
        sorted(told, key=lambda one: one.at),
        at + chance.choice((2.0, 40.0)),
    )


@pytest.mark.parametrize("part", range(2))
def test_the_verdict_over_a_run_with_several_faults(part: int) -> None:
    told = []
    for seed in SEEDS[part::2]:
        label, events, at = events_of(seed)
        watch = follow([Event(0.0, "joined", name) for name in "ab"])
        found = [one for event in events for one in (*watch.add(event), *watch.tick(event.at))]
        verdict = watch.verdict(at)
        assert not watch.faulty, watch.faulty
        told.append(f"{seed} ({label}): {', '.join(f'{one.id} {one.verdict} {one.where}' for one in found)}")
        lines = said.lines([verdict] if verdict else [])
        told += [f"{seed} {line}" for line in lines if not line.startswith("  fix")] or [f"{seed} nothing"]
    said.hold(Path(__file__).parent / "said" / "mixed-ends.txt", told)
