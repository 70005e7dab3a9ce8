from tests.checks.case import fires, silent

OTHER = {
    "launcher": "torchrun",
    "pid": 900,
    "uid": 1001,
    "name": "python3",
    "run": None,
    "age_seconds": 259200.0,
}

CASES = (
    fires(
        "cpu",
        {"node-1/leftovers/others": [OTHER]},
        node="node-1",
        verdict="note",
        saw="1 training of others on node-1: pid 900 (torchrun, uid 1001, started 3 d ago)",
    ),
    fires(
        "cpu",
        {"node-1/leftovers/others": [OTHER, {**OTHER, "pid": 901, "age_seconds": None}]},
        saw="2 trainings",
    ),
    silent("cpu"),
)
