from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/compute_mode": "Prohibited"}, node="node-1", verdict="block"),
    fires("a100", {"node-1/gpus/list/2/compute_mode": "Exclusive_Process"}, node="node-1", verdict="warn"),
    silent("a100"),
)
