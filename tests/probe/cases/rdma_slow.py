from __future__ import annotations

from itertools import combinations

from allranks.probe.results import Link
from tests.probe.case import Simulated, fires, silent

USUAL = 24e9


def pairs(slow: dict[tuple[str, str], float]):
    """One measured direction of every pair; `slow` has shares of the usual rate."""

    def change(sim: Simulated) -> None:
        names = [node.name for node in sim.nodes]
        sim.rdma = [Link(a, b, USUAL * slow.get((a, b), 1.0)) for a, b in combinations(names, 2)]

    return change


CASES = (
    fires(pairs({("n1", "n3"): 0.45}), node="n1", verdict="warn", saw="RDMA to n3 carries 86.4 Gb/s"),
    fires(
        pairs(
            {("n0", "n2"): 0.4, ("n1", "n2"): 0.4, ("n2", "n3"): 0.4, ("n2", "n4"): 0.4, ("n2", "n5"): 0.4}
        ),
        nodes=6,
        node="n2",
        saw="its RDMA carries at most 76.8 Gb/s, the others' usually 192 Gb/s",
    ),
    fires(pairs({("n0", "n2"): 0.4, ("n1", "n2"): 0.4}), nodes=3, node="n2", saw="at most 76.8 Gb/s"),
    silent(pairs({("n1", "n3"): 0.55})),
    silent(pairs({})),
    silent(),
)
