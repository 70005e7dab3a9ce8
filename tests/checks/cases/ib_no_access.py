from tests.checks.case import fires, silent

CASES = (
    fires("h100", {"node-1/infiniband/verbs": []}, node="node-1", verdict="warn"),
    silent("h100"),
    silent("a100"),
)
