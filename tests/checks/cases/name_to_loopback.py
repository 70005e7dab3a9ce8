from tests.checks.case import fires, silent

NAMED = {
    "run/cluster/nodes/0/address": "alpha",
    "*/network/resolved": {"alpha": {"addresses": ["10.0.0.1"]}},
}

CASES = (
    fires(
        "cpu", {**NAMED, "node-0/network/resolved": {"alpha": {"addresses": ["127.0.1.1"]}}}, node="node-0"
    ),
    fires(
        "cpu", {**NAMED, "node-1/network/resolved": {"alpha": {"addresses": ["127.0.0.1"]}}}, node="node-1"
    ),
    silent("cpu", NAMED),
    silent("demo"),
)
