from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/NCCL_IB_DISABLE": "1", "run/env/NCCL_IB_HCA": "mlx5_0"}, verdict="note"),
    fires(
        "h100",
        {
            "run/env/NCCL_SOCKET_IFNAME": "ib0",
            "run/env/GLOO_SOCKET_IFNAME": "eth0",
            "run/network/interface": "auto",
        },
        saw="two networks",
    ),
    silent("a100", {"run/env/NCCL_IB_DISABLE": "0", "run/env/NCCL_IB_HCA": "mlx5_0"}),
    silent("a100", {"run/env/NCCL_SOCKET_IFNAME": "=eth0", "run/env/GLOO_SOCKET_IFNAME": "eth0"}),
)
