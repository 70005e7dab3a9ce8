from tests.probe.case import fires, silent

CASES = (
    fires(
        lambda sim: sim.breaks("n1", "n2", "data", "refused"),
        node="n1",
        verdict="block",
        saw="does not reach n2",
    ),
    silent(),
    silent(lambda sim: sim.cuts("n2", outbound=False, kinds=["data"])),
)
