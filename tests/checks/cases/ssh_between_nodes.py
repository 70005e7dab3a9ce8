from tests.checks.case import fires, silent

PDSH = {
    "run/launch/with_": "pdsh",
    "node-0/software/programs/pdsh": "/usr/bin/pdsh",
    "node-0/ssh/reached": {"node-1": None, "node-2": None},
}

CASES = (
    fires(
        "cpu", {**PDSH, "node-0/ssh/reached": {"node-1": None, "node-2": "Permission denied"}}, node="node-0"
    ),
    silent("cpu", PDSH),
    silent("cpu"),
)
