from tests.checks.case import fires, silent

CASES = (
    fires(
        "t4",
        {"localhost/software/torch_cuda": "13.0", "localhost/software/nvcc/version": "13.0"},
        verdict="block",
    ),
    # 470.199.02 with torch for CUDA 12.1 in a container: seen to work, by cuda-compat outside the loader's folders.
    fires(
        "t4",
        {
            "localhost/software/torch_cuda": "13.0",
            "localhost/software/nvcc/version": "13.0",
            "localhost/system/container": "docker",
        },
        verdict="warn",
        also=(),
    ),
    silent(
        "t4",
        {
            "localhost/software/torch_cuda": "13.0",
            "localhost/software/nvcc/version": "13.0",
            "localhost/driver/libraries/libcuda": ["580.65.06"],
        },
    ),
    silent("t4"),
    silent("t4", {"localhost/software/torch_cuda": None}),
)
