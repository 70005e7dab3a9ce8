from tests.checks.case import fires, silent

MANY = {f"run/cluster/nodes/{number}/gpus": 100 for number in range(3)}
"""300 ranks in all."""

CASES = (
    fires("a100", {"node-1/system/limits/nofile": [512, 4096]}, node="node-1", saw="512"),
    silent("a100"),
    silent("a100", {"node-1/system/limits/nofile": [None, None]}),
    fires("a100", {"node-1/system/limits/nofile": [1023, 4096]}),
    silent("a100", {"node-1/system/limits/nofile": [1024, 4096]}),
    fires("cpu", {**MANY, "node-1/system/limits/nofile": [1711, 4096]}, also=("host-memory",)),
    silent("cpu", {**MANY, "node-1/system/limits/nofile": [1712, 4096]}),
)
