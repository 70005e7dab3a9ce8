from tests.checks.case import fires, silent

CASES = (
    fires("h100", {"node-1/topology/matrix/GPU3/mlx5_3": "NODE"}, node="node-1", saw="GPU 3 (NODE)"),
    silent("h100"),
    silent("h100", {"node-1/topology/matrix": {}}),
)
