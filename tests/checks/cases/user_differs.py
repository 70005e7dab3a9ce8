from tests.checks.case import fires, silent

SHARED_RUNS = {("*", "storage", "paths", "/home/ubuntu/runs", "type"): "nfs4"}

CASES = (
    fires("a100", {**SHARED_RUNS, "node-1/system/user/uid": 1001}, node="node-1", saw="uid 1001"),
    silent("a100", {"node-1/system/user/uid": 1001}),
    silent("a100", SHARED_RUNS),
)
