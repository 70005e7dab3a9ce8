from tests.checks.case import fires, silent

CASES = (
    fires(
        "t4",
        {"localhost/software/torch_cuda": "13.0", "localhost/software/nvcc/version": "13.0"},
        verdict="block",
    ),
    silent("t4"),
    silent("t4", {"localhost/software/torch_cuda": None}),
)
