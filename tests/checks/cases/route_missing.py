from tests.checks.case import fires, silent

CASES = (
    fires(
        "cpu", {"node-1/network/routes/node-0": {"address": "10.0.0.1", "reason": "Network is unreachable"}}
    ),
    fires(
        "cpu",
        {
            "node-1/network/routes/node-2": {
                "address": "10.0.0.3",
                "source": "172.17.0.1",
                "interface": "docker0",
            }
        },
        node="node-1",
        saw="over docker0",
    ),
    silent("cpu"),
    silent("demo"),
)
