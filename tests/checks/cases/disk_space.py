from tests.checks.case import fires, silent

HOME = "/home/ubuntu/.allranks"

CASES = (
    fires(
        "cpu",
        {("node-2", "storage", "paths", HOME, "free_bytes"): 200 << 20},
        node="node-2",
        verdict="block",
        saw="200 MiB free",
    ),
    fires(
        "cpu", {("node-2", "storage", "paths", HOME, "free_inodes"): 5}, node="node-2", saw="5 free inodes"
    ),
    # btrfs and some network filesystems count no inodes: 0 of 0.
    silent(
        "cpu",
        {("*", "storage", "paths", HOME, "free_inodes"): 0, ("*", "storage", "paths", HOME, "inodes"): 0},
    ),
    fires("cpu", {("node-2", "storage", "paths", HOME, "free_bytes"): 1_000_000_000}),
    silent("cpu", {("node-2", "storage", "paths", HOME, "free_bytes"): 1_150_000_000}),
    fires("cpu", {("node-2", "storage", "paths", HOME, "free_inodes"): 9_999}),
    silent("cpu", {("node-2", "storage", "paths", HOME, "free_inodes"): 10_000}),
)
