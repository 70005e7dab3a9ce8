from tests.checks.case import fires, silent

BOOT = "11111111-2222-3333-4444-555555555555"

CASES = (
    # What is wrong with one machine as the host of two nodes, its GPUs among others, is not said again.
    fires(
        "a100",
        {"node-1/system/boot_id": BOOT, "node-2/system/boot_id": BOOT},
        node="node-2",
        saw="are one machine",
    ),
    silent("a100"),
    silent("demo"),
)
