from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires(
        "cpu",
        {
            ("node-1", "storage", "paths", "/home/ubuntu/.allranks", "writable"): False,
            ("node-1", "storage", "paths", "/home/ubuntu/.allranks", "reason"): "Read-only file system",
        },
        node="node-1",
        verdict="block",
        saw="Read-only",
    ),
    silent("cpu"),
    silent("cpu", {("node-1", "storage", "paths", "/home/ubuntu/.allranks"): Unreadable("hangs")}),
)
