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
    # Docker's own bridges have 12 digits; nodes of OpenShift have their address on `br-ex`.
    fires("cpu", {"node-1/network/routes/node-2": {"interface": "br-0a1b2c3d4e5f"}}, node="node-1"),
    silent("cpu", {"node-1/network/routes/node-2": {"interface": "br-ex"}}),
    fires("cpu", {"node-1/network/routes/node-2": {"interface": "lo"}}, node="node-1"),
    silent("cpu", {"node-1/network/routes/node-2": {"interface": "lobby0"}}),
    silent("cpu"),
    silent("demo"),
)
