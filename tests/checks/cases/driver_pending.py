from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/driver/module_on_disk": "570.133.20"}, node="node-1", verdict="note"),
    silent("a100", {"node-1/driver/module_on_disk": None}),
)
