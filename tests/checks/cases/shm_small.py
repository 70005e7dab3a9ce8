from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 64 << 20},
        node="node-1",
        saw="64.0 MiB",
    ),
    silent("a100"),
    silent("demo"),
    fires("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 1000 << 20}),
    silent("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 1050 << 20}),
    fires("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 62 << 20}),
    silent("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 66 << 20}),
)
