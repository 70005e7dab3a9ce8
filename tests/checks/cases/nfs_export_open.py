from tests.checks.case import fires, silent

GUIDE = {"path": "/shared", "client": "*", "options": "rw,sync,no_subtree_check,no_root_squash"}

CASES = (
    fires("a100", {"node-0/firewall/exports": [GUIDE]}, node="node-0", verdict="warn", saw="no_root_squash"),
    silent("a100", {"node-0/firewall/exports": [{**GUIDE, "client": "10.0.0.0/24"}]}),
    silent("a100", {"node-0/firewall/exports": [{**GUIDE, "options": "rw,sync"}]}),
)
