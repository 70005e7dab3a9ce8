from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"*/system/numa_balancing": 1}, verdict="note", saw="node-0, node-1, node-2"),
    silent("a100"),
    silent("cpu", {"*/system/numa_balancing": 1}),
)
