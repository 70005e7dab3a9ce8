from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/network/interfaces/eth0/mtu": 1500}, node="node-1", saw="1500"),
    silent("a100"),
    # Another interface does not matter.
    silent("h100", {"node-1/network/interfaces/ib3/mtu": 2044}),
)
