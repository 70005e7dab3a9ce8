from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, fires, silent


def wrong(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[1] = replace(ranks[1], wrong=17)
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


CASES = (fires(wrong, node="n1", verdict="block", saw="17 of 2,097,152 sums are wrong on rank 1"), silent())
