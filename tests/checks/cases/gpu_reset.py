from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/recovery": "Reset"}, node="node-1", verdict="block", saw="Reset"),
    fires("a100", {"node-1/gpus/list/2/reset_required": True}, node="node-1"),
    silent("a100"),
)
