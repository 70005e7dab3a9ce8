from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def slow_node(sim: Simulated) -> None:
    for other in ("n0", "n1", "n3"):
        sim.slows("n2", other, 0.1)


def slow_both_ways(node: str):
    def change(sim: Simulated) -> None:
        for source, target, _ in list(sim.rates):
            if node in (source, target):
                sim.slows(source, target, 0.04)

    return change


CASES = (
    fires(lambda sim: sim.slows("n1", "n2", 0.1), node="n1", verdict="warn", saw="to n2 it carries 944 Mb/s"),
    fires(slow_node, node="n2", verdict="warn", saw="944 Mb/s out"),
    # Four of the six directions touch it.
    fires(slow_both_ways("n2"), nodes=3, node="n2", verdict="warn", saw="378 Mb/s in and out"),
    silent(lambda sim: sim.slows("n1", "n2", 2.5), nodes=3),  # one figure that is too high is no standard
    silent(),
    silent(lambda sim: sim.slows("n1", "n2", 0.7)),
)
