from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/persistence": False}, node="node-1", verdict="note"),
    silent("a100"),
)
