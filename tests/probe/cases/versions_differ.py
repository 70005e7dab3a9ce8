from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, fires, silent


def old(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[3] = replace(ranks[3], torch="2.11.0")
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


CASES = (fires(old, node="n3", verdict="block", saw="torch 2.11.0, most nodes' 2.13.0"), silent())
