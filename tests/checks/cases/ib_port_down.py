from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100",
        {
            "node-1/infiniband/devices/mlx5_3/ports/1/state": "DOWN",
            "node-1/infiniband/devices/mlx5_3/ports/1/physical": "Polling",
        },
        node="node-1",
        verdict="warn",
        saw="mlx5_3/1 DOWN (Polling)",
    ),
    # A port that is down on every node was never cabled.
    silent("h100", {"*/infiniband/devices/mlx5_7/ports/1/state": "DOWN"}),
    # A port that the ranks do not use.
    silent(
        "h100",
        {"node-1/infiniband/devices/mlx5_3/ports/1/state": "DOWN", "run/env/NCCL_IB_HCA": "^=mlx5_3"},
    ),
    silent("a100"),
)
