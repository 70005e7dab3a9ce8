from tests.checks.case import fires, silent

CASES = (
    fires("h100", {"run/env/NCCL_IB_DISABLE": "1"}, verdict="warn", saw="3200 Gb/s"),
    silent("h100", {"run/env/NCCL_IB_DISABLE": "0"}),
    silent("h100"),
)
