from tests.checks.case import fires, silent


def up(address):
    return {"up": True, "loopback": False, "addresses": [address]}


CASES = (
    # The kernel gave two ports their names in another order on one node.
    fires(
        "cpu",
        {
            "*/network/interfaces/eth1": up("192.168.7.9/24"),
            "node-2/network/interfaces/eth0": up("192.168.7.3/24"),
            "node-2/network/interfaces/eth1": up("10.0.0.3/24"),
            "run/env/GLOO_SOCKET_IFNAME": "eth0",
        },
        node="node-2",
        verdict="block",
        saw="eth0 of node-2 is in 192.168.7.0/24, and its eth1 is in 10.0.0.0/24",
    ),
    # A routed network for each node.
    silent(
        "cpu",
        {
            "node-1/network/interfaces/eth0": up("10.0.1.2/24"),
            "node-2/network/interfaces/eth0": up("10.0.2.3/24"),
            "run/env/GLOO_SOCKET_IFNAME": "eth0",
        },
    ),
    # Another network, and no way into the others': the probe will tell whether it is routed.
    silent(
        "cpu",
        {"node-2/network/interfaces/eth0": up("192.168.7.3/24"), "run/env/GLOO_SOCKET_IFNAME": "eth0"},
    ),
    silent("cpu"),
)
