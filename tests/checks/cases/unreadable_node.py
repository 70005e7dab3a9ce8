from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires(
        "cpu",
        {"node-1/node": Unreadable("connection timed out after 10 s")},
        node="node-1",
        verdict="unknown",
    ),
    fires(
        "cpu",
        {"node-1/node": Unreadable("node-1: 10.0.0.2: no answer")},
        saw="node-1 (10.0.0.2) could not be asked: no answer",
    ),
    silent("cpu"),
)
