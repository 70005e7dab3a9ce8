from tests.checks.case import fires, silent

FAST = {"mtu": 9000, "up": True, "loopback": False, "speed_mbits": 100_000, "addresses": ["10.9.0.1/24"]}

CASES = (
    fires("cpu", {"node-1/network/interfaces/eth1": FAST}, node="node-1", saw="100 Gb/s"),
    silent("cpu", {"node-1/network/interfaces/eth1": {**FAST, "addresses": []}}),
    silent("h100", {"*/network/interfaces/eth0/speed_mbits": 1000}),
    fires("cpu", {"node-1/network/interfaces/eth1": {**FAST, "speed_mbits": 20_000}}),
    silent("cpu", {"node-1/network/interfaces/eth1": {**FAST, "speed_mbits": 19_999}}),
)
