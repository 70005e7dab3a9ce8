from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {"node-1/gpus/list/2/uuid": "GPU-00000000-0000-4000-8000-000000000002"},
        node="node-1",
        verdict="block",
    ),
    # Masked, as some who publish it do.
    silent(
        "a100",
        {f"node-{n}/gpus/list/2/uuid": "GPU-00000000-0000-0000-0000-000000000000" for n in (1, 2)},
    ),
    silent("a100", {"node-1/gpus/list/2/uuid": None, "node-2/gpus/list/2/uuid": None}),
)
