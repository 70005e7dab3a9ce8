from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/mig": True}, node="node-1", verdict="block"),
    fires("a100", {"node-1/gpus/list/2/mig_pending": True}, node="node-1", verdict="warn"),
    fires("mig", {}, node="localhost", saw="7 instances"),
    silent("a100"),
)
