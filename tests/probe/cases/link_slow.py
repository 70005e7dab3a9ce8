from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def slow_node(sim: Simulated) -> None:
    for other in ("n0", "n1", "n3"):
        sim.slows("n2", other, 0.1)


CASES = (
    fires(lambda sim: sim.slows("n1", "n2", 0.1), node="n1", verdict="warn", saw="to n2 it carries 944 Mb/s"),
    fires(slow_node, node="n2", verdict="warn", saw="944 Mb/s out"),
    silent(),
    silent(lambda sim: sim.slows("n1", "n2", 0.7)),
)
