from tests.checks.case import fires, silent

NAMED = {"run/network/port": 39500}
BUSY_HEAD = {**NAMED, "node-0/network/local_ports_in_use": 9000}

CASES = (
    fires("cpu", BUSY_HEAD, node="node-0", verdict="note", saw="9,000 ports are in use"),
    silent("cpu", {**BUSY_HEAD, "node-0/network/reserved_ports": "8080,39000-40000"}),
    silent("cpu", {**BUSY_HEAD, "run/network/port": 29500}),
    silent("cpu", {**BUSY_HEAD, "node-0/network/local_port_range": [49152, 65535]}),
    silent("cpu"),
    fires("cpu", {**NAMED, "node-0/network/local_ports_in_use": 283}),
    silent("cpu", {**NAMED, "node-0/network/local_ports_in_use": 282}),
    silent("cpu", {**BUSY_HEAD, "run/network/port": 0}),  # auto: the head holds it
)
