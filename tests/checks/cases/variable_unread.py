from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {"run/env/TORCH_NCCL_TIMEOUT_MS": "3600000"},
        verdict="warn",
        saw="process group's own time-out",
    ),
    fires("cpu", {"run/env/NCCL_TIMEOUT": "1800"}, saw="NCCL_TIMEOUT=1800"),
    fires("a100", {"run/env/NCCL_PORT_RANGE": "39500-39531"}),
    fires("a100", {"run/env/NCCL_SOCKET_IFNAMES": "eth0"}),
    fires("cpu", {"run/env/HF_ENABLE_PARALLEL_LOADING": "true"}),
    silent("a100", {"run/env/NCCL_IB_TIMEOUT": "22", "run/env/MY_OWN": "1"}),
    silent(
        "a100", {"run/env/HF_ENABLE_PARALLEL_LOADING": "true", "*/software/versions/transformers": "4.52.4"}
    ),
)
