from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, verdict="warn"),
    fires("a100", {"run/env/NCCL_DEBUG": "INFO"}, verdict="note"),
    fires("a100", {"run/env/CUDA_LAUNCH_BLOCKING": "1"}, verdict="warn"),
    silent("a100", {"run/env/NCCL_DEBUG": "WARN", "run/env/TORCH_DISTRIBUTED_DEBUG": "INFO"}),
)
