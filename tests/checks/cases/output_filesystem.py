from tests.checks.case import fires, silent

RUNS = "/home/ubuntu/runs"

CASES = (
    fires("a100", {("node-0", "storage", "paths", RUNS, "type"): "tmpfs"}, node="node-0", saw="tmpfs"),
    fires(
        "a100",
        {("*", "storage", "paths", RUNS, "type"): "nfs4", "run/train/arguments/save_only_model": False},
        saw="nfs4",
    ),
    silent("a100", {("*", "storage", "paths", RUNS, "type"): "nfs4"}),
    silent("a100", {("node-0", "storage", "paths", RUNS, "type"): "overlay"}),
    silent("a100"),
    # An adapter of 0.99 GiB, and one of 1.02 GiB.
    silent("a100", {("*", "storage", "paths", RUNS, "type"): "nfs4", "run/train/arguments/lora_rank": 44}),
    fires("a100", {("*", "storage", "paths", RUNS, "type"): "nfs4", "run/train/arguments/lora_rank": 45}),
)
