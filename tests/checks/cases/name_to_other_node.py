from tests.checks.case import fires, silent

NAMES = {
    f"run/cluster/nodes/{number}/address": name for number, name in enumerate(("alpha", "beta", "gamma"))
}
RIGHT = {
    name: {"addresses": [f"10.0.0.{number}"]} for number, name in enumerate(("alpha", "beta", "gamma"), 1)
}
SWAPPED = {**RIGHT, "beta": RIGHT["gamma"], "gamma": RIGHT["beta"]}
BRIDGE = {"up": True, "addresses": ["172.17.0.1/16"]}

CASES = (
    fires(
        "cpu",
        {**NAMES, "*/network/resolved": RIGHT, "node-0/network/resolved": SWAPPED},
        node="node-0",
        verdict="block",
        saw="beta leads to node-2 on node-0",
    ),
    silent("cpu", {**NAMES, "*/network/resolved": RIGHT}),
    # An address that no node has, as behind a NAT, or that all have, proves nothing.
    silent("cpu", {**NAMES, "*/network/resolved": {**RIGHT, "beta": {"addresses": ["203.0.113.7"]}}}),
    silent(
        "cpu",
        {
            **NAMES,
            "*/network/interfaces/docker0": BRIDGE,
            "*/network/resolved": {**RIGHT, "beta": {"addresses": ["172.17.0.1"]}},
        },
    ),
    silent("cpu"),
)
