from tests.checks.case import fires, silent

CASES = (
    fires("h100", {"run/env/NCCL_IB_HCA": "mlx4_0"}, verdict="warn", saw="does not name an active port"),
    fires("h100", {"run/env/NCCL_IB_HCA": "mlx5"}, verdict="note", saw="is a prefix"),
    silent("h100", {"run/env/NCCL_IB_HCA": "=mlx5_0,mlx5_1"}),
    silent("h100", {"run/env/NCCL_IB_HCA": "mlx5_0"}),
)
