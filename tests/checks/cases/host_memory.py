from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

SCRIPT = {**COMMAND, FILE: {"exists": True, "text": "print(1)\n"}}
"""Of which the plan knows no memory."""

CASES = (
    fires(
        "cpu",
        {"node-1/system/memory/available_bytes": 300 << 20},
        node="node-1",
        verdict="block",
        saw="300 MiB",
    ),
    fires("cpu", {"node-1/system/cgroup_memory_bytes": 512 << 20}, node="node-1", saw="control group"),
    silent("cpu"),
    silent("cpu", {"node-1/system/cgroup_memory_bytes": 64 << 30}),
    fires("cpu", {**SCRIPT, "node-1/system/memory/available_bytes": (700 << 20) - 1}),
    silent("cpu", {**SCRIPT, "node-1/system/memory/available_bytes": 700 << 20}),
)
