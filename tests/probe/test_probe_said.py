"""What is said of clusters with several faults at once: `tests/probe/said/damaged.txt` has every finding of each.

The faults are drawn from a seed. That few nodes explain all failures is the matter of test_probe_blame.py; here a
change of a rule, a limit or the search shows in which of these clusters it says something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.core import OK
from allranks.probe.judge import judge
from allranks.probe.results import DATA, RENDEZVOUS, Link
from tests import said
from tests.probe.case import Simulated, collective

SEEDS = range(240)
OUTCOMES = (
    "dropped",
    "refused",
    "no-route",
    "forbidden",
    "unknown-name",
    "silent",
    "stranger",
    "wrong-node",
    "reset",
)
SHARES = (0.0, 0.2, 0.49, 0.51, 0.79, 0.81, 1.2)
STAGES = (
    "started",
    "begun",
    "imported",
    "device",
    "computed",
    "joined",
    "summed",
    "measured",
    "done",
    "else",
)


def names(sim: Simulated) -> list[str]:
    return [node.name for node in sim.nodes]


def breaks(sim: Simulated, chance: random.Random) -> None:
    pairs = [key for key in sim.dials if key[0] != key[1]]
    for source, target, kind in chance.sample(pairs, min(len(pairs), chance.choice((1, 1, 2, 4)))):
        more = {
            "resolved": chance.choice(("10.0.0.99", "127.0.0.1", sim.dials[source, target, kind].resolved))
        }
        sim.breaks(
            source,
            target,
            kind,
            chance.choice(OUTCOMES),
            answered_by=chance.choice((None, source, "n1")),
            **more,
        )


def cuts(sim: Simulated, chance: random.Random) -> None:
    kinds = chance.choice(((DATA,), (RENDEZVOUS,), (DATA, RENDEZVOUS)))
    inbound, outbound = chance.choice(((True, True), (True, False), (False, True)))
    sim.cuts(chance.choice(names(sim)), inbound, outbound, kinds)


def cuts_all(sim: Simulated, chance: random.Random) -> None:
    kinds = chance.choice(((DATA,), (RENDEZVOUS,), (DATA, RENDEZVOUS)))
    for name in names(sim)[: chance.choice((None, -1))]:
        sim.cuts(name, kinds=kinds)


def slows(sim: Simulated, chance: random.Random) -> None:
    node, share = chance.choice(names(sim)), chance.choice(SHARES)
    side = chance.choice((0, 1, 2))
    for key in sim.rates:
        if (key[0] == node and side != 1) or (key[1] == node and side != 0):
            sim.rates[key] *= share


def slows_one(sim: Simulated, chance: random.Random) -> None:
    if sim.rates:
        sim.rates[chance.choice(sorted(sim.rates))] *= chance.choice(SHARES)


def clocks(sim: Simulated, chance: random.Random) -> None:
    for node in chance.sample(names(sim), 1):
        dial = sim.dials[node, "n0", RENDEZVOUS]
        offset = chance.choice((-1, 1)) * chance.choice((0.4, 0.9, 1.1, 4.9, 5.1, 29.0, 31.0, 4000.0))
        sim.dials[node, "n0", RENDEZVOUS] = replace(dial, clock=(offset, chance.choice((0.01, 0.5, 9.0))))


def translated(sim: Simulated, chance: random.Random) -> None:
    node = chance.choice(names(sim))
    sim.dials[node, "n0", RENDEZVOUS] = replace(sim.dials[node, "n0", RENDEZVOUS], saw="192.0.2.7")


def ears(sim: Simulated, chance: random.Random) -> None:
    node = chance.choice(names(sim))
    changes = (
        {"address": None, "port": None, "reason": "no interface of that name"},
        {"source": "192.168.0.3", "way": "eth1"}, {"resolved": {"10.0.0.1": ("127.0.1.1",)}},
        {"ports": {39500: "in use"}}, {"nvidia": 8, "rdma": 2},
        {"address": "127.0.0.1"}, {"addresses": frozenset({"10.0.0.77", "127.0.0.1", "fe80::1"})},
    )  # fmt: skip
    sim.hears(node, **chance.choice(changes))


def unheard(sim: Simulated, chance: random.Random) -> None:
    told = chance.choice((sim.unreached, sim.skipped))
    told[chance.choice(names(sim))] = "it did not answer within 30 s"


def ranks(sim: Simulated, chance: random.Random) -> None:
    """Something else for one or two ranks of the collective."""
    one = sim.collectives[0]
    found = list(one.ranks)
    stopped = chance.choice(("", "", "it took longer than 60 s"))
    for place in chance.sample(range(len(found)), min(len(found), chance.choice((1, 2)))):
        changes = (
            {"code": 1, "reached": chance.choice(STAGES), "tail": "Traceback\n" * 20 + "ValueError: no"},
            {"code": -9, "reached": chance.choice(STAGES)}, {"torch": "2.11.0"}, {"python": "3.12.1"},
            {"nccl": "2.27.3"}, {"python": "3.11.9"}, {"wrong": 3}, {"reached": chance.choice(STAGES), "code": None},
        )  # fmt: skip
        found[place] = replace(found[place], **chance.choice(changes))
    sim.collectives = [replace(one, ranks=tuple(found), stopped=stopped)]


def devices(sim: Simulated, chance: random.Random) -> None:
    """GPUs, some near the limits of the others' speed or all of them slow."""
    usual = chance.choice((150e12, 102e12, 103e12))
    flops = [usual * chance.choice((1, 1, 1, 0.77, 0.79, 0.1)) for _ in sim.nodes]
    copied = [1e12 * chance.choice((1, 1, 0.77, 0.79)) for _ in sim.nodes]
    device = chance.choice((None, "NVIDIA A100-SXM4-80GB", "NVIDIA Something"))
    made = collective("one rank per GPU", names(sim), "nccl")
    told = zip(made.ranks, flops, copied, strict=True)
    sim.collectives.append(
        replace(made, ranks=tuple(replace(rank, flops=f, copied=c, device=device) for rank, f, c in told))
    )


def rdma(sim: Simulated, chance: random.Random) -> None:
    every = names(sim)
    slow = chance.choice(every)
    for number, source in enumerate(every):
        for target in every[number + 1 :]:
            share = chance.choice((1, 0.49, 0.1)) if slow in (source, target) else 1
            sim.rdma.append(
                Link(source, target, chance.choice((24e9 * share, 24e9 * share, None)), reason="ib")
            )


FAULTS: tuple[Callable[[Simulated, random.Random], None], ...] = (
    breaks, cuts, cuts_all, slows, slows_one, clocks, translated, ears, unheard, ranks, devices, rdma,
)  # fmt: skip


def damaged(seed: int) -> tuple[str, Simulated]:
    chance = random.Random(seed)
    sim = Simulated(chance.choice((1, 2, 3, 4, 4, 6)), chance.choice(("auto", "auto", "eth0")))
    # Each fault comes first once in a while; the others are drawn.
    chosen = [FAULTS[seed % len(FAULTS)], *chance.sample(FAULTS, chance.choice((0, 0, 1, 2)))]
    for fault in chosen:
        fault(sim, chance)
    return f"{len(sim.nodes)} nodes, {', '.join(fault.__name__ for fault in chosen)}", sim


@pytest.mark.parametrize("fault", range(len(FAULTS)), ids=[fault.__name__ for fault in FAULTS])
def test_what_is_said_of_several_faults(fault: int) -> None:
    told = []
    for seed in SEEDS[fault :: len(FAULTS)]:
        label, sim = damaged(seed)
        findings = [one for one in judge(sim.results(), sim.run) if one.verdict != OK]
        texts = [
            f"{one.id} {one.verdict} {one.where}: {one.saw} | {one.expected} | {one.fix}" for one in findings
        ]
        told += [
            f"{seed} ({label}): {', '.join(one.id for one in findings) or 'nothing'}",
            *(f"{seed} {t}" for t in texts),
        ]
    said.hold(Path(__file__).parent / "said" / "damaged.txt", told)
