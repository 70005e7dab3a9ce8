from tests.checks.case import fires, silent

HELD = {"free": False, "reason": "Address already in use"}

OURS = {"pid": 41877, "uid": 1000, "name": "python", "run": "0902-a", "age_seconds": 50400.0}

STRANGER = {"pid": 900, "uid": 33, "name": "nginx", "run": None, "age_seconds": 8.0}

CASES = (
    fires(
        "cpu",
        {"run/network/port": 39500, "node-0/network/ports/39500": {**HELD, "held_by": [OURS]}},
        node="node-0",
        verdict="block",
        saw="held by pid 41877 (python, run 0902-a, started 14 h ago)",
    ),
    fires(
        "cpu",
        {"run/network/port": 39500, "node-0/network/ports/39500": {**HELD, "held_by": [STRANGER]}},
        node="node-0",
        saw="pid 900 (nginx, uid 33",
    ),
    fires(
        "cpu",
        {
            "run/network/port": 39500,
            "node-0/network/ports/39500": {**HELD, "held_by": [STRANGER], "proposal": 39501},
        },
        node="node-0",
    ),
    fires(
        "cpu",
        {
            "run/network/port": 39500,
            "node-0/network/ports/39500": {"free": False, "reason": "Permission denied", "held_by": []},
        },
        saw="cannot be listened on: Permission denied",
    ),
    silent("cpu"),
)
