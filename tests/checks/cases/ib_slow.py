from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100", {"node-1/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0}, node="node-1", saw="100 Gb/s"
    ),
    silent("h100"),
    # A storage port is slower than the others on every node, by design.
    silent("h100", {"*/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0}),
    # The same ports, in another order of names.
    silent(
        "h100",
        {
            "node-0/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0,
            "node-1/infiniband/devices/mlx5_4/ports/1/rate_gbits": 100.0,
        },
    ),
    # Other hardware under the same name.
    silent(
        "h100",
        {
            "node-1/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0,
            "node-1/infiniband/devices/mlx5_3/type": "MT4119",
        },
    ),
    # One that the ranks do not use.
    silent(
        "h100",
        {"node-1/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0, "run/env/NCCL_IB_HCA": "^=mlx5_3"},
    ),
    # One that is down is another check's.
    silent("h100", {"*/infiniband/devices/mlx5_3/ports/1": {"state": "DOWN", "rate_gbits": 10.0}}),
)
