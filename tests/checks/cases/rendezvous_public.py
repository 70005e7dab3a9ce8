from tests.checks.case import fires, silent

PUBLIC = {"run/cluster/nodes/0/address": "8.8.4.4"}

CASES = (
    fires("cpu", PUBLIC, node="node-0", verdict="warn", saw="8.8.4.4:39500"),
    silent("cpu"),
    silent(
        "cpu",
        {
            **PUBLIC,
            "node-0/firewall/input": {
                "policy": "drop",
                "rejects": False,
                "everything_from": ["10.0.0.0/8"],
                "ports": [],
            },
        },
    ),
)
