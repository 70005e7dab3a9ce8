from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-2/software/torch_cuda": None}, node="node-2", verdict="block"),
    silent("a100"),
    silent("cpu"),
)
