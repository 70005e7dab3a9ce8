from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, fires, silent


def old(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[3] = replace(ranks[3], torch="2.11.0")
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


def python(version: str):
    def change(sim: Simulated) -> None:
        ranks = list(sim.collectives[0].ranks)
        ranks[3] = replace(ranks[3], python=version)
        sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]

    return change


CASES = (
    fires(old, node="n3", verdict="block", saw="torch 2.11.0, most nodes' 2.13.0"),
    fires(python("3.12.7"), node="n3", saw="3.12"),
    # Pickles and wheels do not depend on the third number.
    silent(python("3.11.9")),
    silent(),
)
