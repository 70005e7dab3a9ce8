from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/topology/nvlinks/3": [25.0] * 11 + [None]}, node="node-1", saw="11 active"),
    silent("a100"),
    silent("t4"),
)
