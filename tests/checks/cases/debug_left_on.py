from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, verdict="warn"),
    fires("a100", {"run/env/NCCL_DEBUG": "INFO"}, verdict="note"),
    fires("a100", {"run/env/CUDA_LAUNCH_BLOCKING": "1"}, verdict="warn"),
    # `--debug` and `--set` are for one run.
    silent(
        "a100",
        {
            "run/env/NCCL_DEBUG": "INFO",
            ("run", "lines", "env.NCCL_DEBUG"): None,
            ("run", "lines_in", "env.NCCL_DEBUG"): "--set env.NCCL_DEBUG",
        },
    ),
    silent("a100", {"run/env/NCCL_DEBUG": "WARN", "run/env/TORCH_DISTRIBUTED_DEBUG": "INFO"}),
)
