from tests.checks.case import fires, silent

FUSED = {"deepspeed": {"zero_optimization": {"stage": 3}, "optimizer": {"type": "AdamW"}}}

OFFLOAD = {"deepspeed": {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}}

NVME = {"deepspeed": {"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}}

CASES = (
    fires("a100", {**NVME, "node-2/software/ninja": None}, node="node-2"),
    fires("cpu", {"node-1/software/ninja": None}, node="node-1", verdict="block", saw="ninja is not"),
    fires("a100", {**OFFLOAD, "node-2/software/compiler": None}, node="node-2"),
    fires("a100", {**FUSED, "node-2/software/nvcc": None}, node="node-2", saw="nvcc is not"),
    silent("a100", {"node-2/software/compiler": None}),
    silent("a100", {**OFFLOAD, "node-2/software/nvcc": None}),
)
