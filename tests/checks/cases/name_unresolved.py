from tests.checks.case import fires, silent

NAMED = {
    "run/cluster/nodes/0/address": "alpha",
    "*/network/resolved": {"alpha": {"addresses": ["10.0.0.1"]}},
}

NONE = {"alpha": {"addresses": [], "reason": "Name or service not known"}}

CASES = (
    fires("cpu", {**NAMED, "node-1/network/resolved": NONE}, node="node-1", saw="resolves to nothing"),
    fires(
        "cpu", {**NAMED, "node-1/network/resolved": {"alpha": {"addresses": ["10.9.9.9"]}}}, saw="10.9.9.9"
    ),
    silent("cpu", NAMED),
    silent("cpu"),
)
