from tests.checks.case import fires, silent

TAKES = ("node-1", "storage", "paths", "/home/ubuntu/.allranks", "write_seconds")

CASES = (
    fires(
        "cpu", {("node-1", "storage", "paths", "/home/ubuntu/.allranks", "write_seconds"): 4.2}, node="node-1"
    ),
    silent("cpu"),
    fires("cpu", {TAKES: 1.01}),
    silent("cpu", {TAKES: 1.0}),
)
