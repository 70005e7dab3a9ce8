from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100", {"run/env/NCCL_ASYNC_ERROR_HANDLING": "1"}, verdict="note", saw="the old name of TORCH_NCCL"
    ),
    silent("a100", {"run/env/TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"}),
)
