from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100", {"node-1/infiniband/devices/mlx5_3/ports/1/rate_gbits": 100.0}, node="node-1", saw="100 Gb/s"
    ),
    silent("h100"),
    # A slower storage port among fast ones would be said; one that is down is another check's.
    silent("h100", {"*/infiniband/devices/mlx5_3/ports/1": {"state": "DOWN", "rate_gbits": 10.0}}),
)
