from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/env/CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, verdict="warn", node="node-1"),
    silent("a100", {"run/env/CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    silent("cpu", {"run/env/CUDA_DEVICE_ORDER": "FASTEST_FIRST"}),
)
