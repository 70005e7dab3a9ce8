from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/NCCL_P2P_DISABLE": "1"}, verdict="warn", saw="NCCL_P2P_DISABLE=1"),
    fires("a100", {"run/env/NCCL_SHM_DISABLE": "1"}),
    silent("a100", {"run/env/NCCL_P2P_DISABLE": "0"}),
    silent("t4", {"run/env/NCCL_P2P_DISABLE": "1"}),
)
