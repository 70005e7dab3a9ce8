from tests.probe.case import fires, silent

CASES = (
    # A node that reaches nothing does not reach the head either.
    fires(
        lambda sim: sim.cuts("n2"),
        node="n2",
        verdict="block",
        saw="6 of 6 connections to and from it",
        also=("head-unreachable",),
    ),
    fires(
        lambda sim: sim.cuts("n2", inbound=False, kinds=["data"]), node="n2", saw="3 of 3 connections from it"
    ),
    silent(),
    silent(lambda sim: sim.breaks("n1", "n2", "data")),
)
