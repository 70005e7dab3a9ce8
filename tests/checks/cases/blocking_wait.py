from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/TORCH_NCCL_BLOCKING_WAIT": "1"}, verdict="warn"),
    silent("a100", {"run/env/TORCH_NCCL_BLOCKING_WAIT": "0"}),
    silent("cpu", {"run/env/TORCH_NCCL_BLOCKING_WAIT": "1"}),
)
