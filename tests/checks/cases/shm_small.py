from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 64 << 20},
        node="node-1",
        saw="64.0 MiB",
    ),
    fires(
        "a100",
        {("node-1", "storage", "paths", "/dev/shm", "free_bytes"): (1 << 30) - 1},
        node="node-1",
        saw="free of",
    ),
    silent("a100", {("node-1", "storage", "paths", "/dev/shm", "free_bytes"): 1 << 30}),
    silent("a100"),
    silent("demo"),
    fires("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): (1 << 30) - 1}),
    silent("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 1 << 30}),
    fires("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): (64 << 20) - 1}),
    silent("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 64 << 20}),
)
