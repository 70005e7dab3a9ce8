from tests.checks.case import fires, silent

ETH1 = {"run/network/interface": "eth1"}

CASES = (
    fires("cpu", ETH1, node="node-0", verdict="block", saw="none of that name"),
    fires(
        "a100",
        {"node-1/network/interfaces/eth0/up": False, "run/network/interface": "eth0"},
        saw="it is down",
    ),
    fires("a100", {"run/env/GLOO_SOCKET_IFNAME": "^lo,docker"}, saw="gloo takes one exact name"),
    fires("a100", {"run/env/NCCL_SOCKET_IFNAME": "ib0"}, node="node-2"),
    silent("a100", {"run/env/NCCL_SOCKET_IFNAME": "^lo,docker"}),
    silent("a100", {"run/env/NCCL_SOCKET_IFNAME": "eth"}),
    silent("h100"),
    fires(
        "a100",
        {"node-1/network/interfaces/eth0/addresses": [], "run/network/interface": "eth0"},
        saw="no address",
    ),
)
