from tests.checks.case import fires, silent

CASES = (
    fires("cpu", {"node-2/system/machine_id": "0" * 31 + "1"}, node="node-2", verdict="note", saw="node-1"),
    silent("cpu", {"*/system/machine_id": "0" * 32, "*/system/container": "docker"}),
    silent("cpu"),
)
