from tests.checks.case import fires, silent

CASES = (
    fires(
        "cpu",
        {"node-2/software/versions/torch": "2.11.0"},
        node="node-2",
        verdict="block",
        saw="torch 2.11.0",
    ),
    fires("cpu", {"node-2/software/versions/numpy": "2.3.0"}, node="node-2", verdict="note"),
    fires("cpu", {"node-1/software/python/version": "3.12.1"}, node="node-1", verdict="block"),
    fires(
        "a100", {"node-2/software/torch_cuda": "12.6"}, node="node-2", verdict="block", saw="for CUDA 12.6"
    ),
    silent("cpu"),
    silent("cpu", {"node-1/software/python/version": "3.11.9"}),
)
