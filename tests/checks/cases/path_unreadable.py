from tests.checks.case import fires, silent

HANGS = {"path": "/home/ubuntu/runs", "unreadable": "did not answer within 8 s and waits in state D"}

CASES = (
    fires(
        "a100", {("node-1", "storage", "paths", "/home/ubuntu/runs"): HANGS}, node="node-1", verdict="unknown"
    ),
    silent("a100"),
)
