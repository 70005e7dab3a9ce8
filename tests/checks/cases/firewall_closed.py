from tests.checks.case import Unreadable, fires, silent

DROPS = {"policy": "drop", "chains": 1, "rejects": False, "ports": ["22"], "everything_from": []}

CASES = (
    fires(
        "a100", {"node-0/firewall/input": DROPS}, node="node-0", verdict="warn", saw="port 39500 is not open"
    ),
    fires(
        "a100", {"node-1/firewall/input": {**DROPS, "ports": ["chain ufw"]}}, node="node-1", verdict="note"
    ),
    silent("a100", {"*/firewall/input": {**DROPS, "everything_from": ["10.18.122.0/24"]}}),
    fires(
        "a100", {"*/firewall/input": {**DROPS, "everything_from": ["10.18.121.0/24", "odd", "10.18.122.0"]}}
    ),
    silent("a100", {"*/firewall/input": {**DROPS, "everything_from": ["interface eth0"]}}),
    silent("a100", {"*/firewall/input": {**DROPS, "everything_from": ["interface eth+"]}}),
    fires("a100", {"*/firewall/input": {**DROPS, "everything_from": ["interface lo", "interface ib0"]}}),
    silent(
        "a100",  # the interface of the nodes' addresses, while the ranks use another one
        {
            "*/firewall/input": {**DROPS, "everything_from": ["interface eth0"]},
            "*/network/interface_to_head": "ib0",
        },
    ),
    silent("demo", {"*/firewall/input": DROPS}),
    silent("a100", {"node-1/firewall/input": Unreadable("iptables: Permission denied")}),
)
