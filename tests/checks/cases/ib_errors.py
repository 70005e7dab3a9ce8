from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100", {"node-1/infiniband/devices/mlx5_3/ports/1/counters/link_downed": 55}, node="node-1", saw="55"
    ),
    silent("h100", {"node-1/infiniband/devices/mlx5_3/ports/1/counters/link_downed": 3}),
)
