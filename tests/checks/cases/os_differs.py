from tests.checks.case import fires, silent

CASES = (
    fires("cpu", {"node-1/system/os_release/name": "Debian GNU/Linux 12"}, node="node-1", verdict="note"),
    fires("cpu", {"node-1/system/architecture": "aarch64"}, node="node-1", verdict="block"),
    fires(
        "cpu",
        {"*/system/kernel": "6.8.0-45-generic", "node-1/system/kernel": "6.11.0-9-generic"},
        node="node-1",
    ),
    fires(
        "cpu",
        {"*/system/kernel": "5.15.0-119-generic", "node-2/system/kernel": "5.15.0-200.131.27.el8uek.x86_64"},
        node="node-2",
        verdict="note",
        saw="el8uek",
    ),
    # An update of the same kernel.
    silent("cpu", {"*/system/kernel": "6.8.0-45-generic", "node-1/system/kernel": "6.8.0-51-generic"}),
    silent("cpu"),
)
