from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/3/name": "NVIDIA A100-SXM4-40GB"}, node="node-1", verdict="block"),
    fires(
        "h100", {"run/gpus/model": None, "node-1/gpus/list/3/name": "NVIDIA A100-SXM4-80GB"}, verdict="warn"
    ),
    fires(
        "a100",
        {"node-1/gpus/list/3/memory/total_bytes": 70 << 30},
        node="node-1",
        verdict="warn",
        saw="70.0 GiB",
    ),
    silent("a100"),
    silent("a100", {"run/gpus/model": "A100"}),
    fires("a100", {"node-1/gpus/list/3/memory/total_bytes": int(78.3 * 2**30)}, verdict="warn"),
    silent("a100", {"node-1/gpus/list/3/memory/total_bytes": int(78.5 * 2**30)}),
)
