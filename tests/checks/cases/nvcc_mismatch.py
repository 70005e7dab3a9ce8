from tests.checks.case import fires, silent
from tests.checks.cases.compiler_missing import FUSED

CASES = (
    fires("a100", {**FUSED, "node-2/software/nvcc/version": "11.8"}, node="node-2", verdict="block"),
    silent("a100", {"node-2/software/nvcc/version": "11.8"}),
    fires("a100", {**FUSED, "node-2/software/nvcc/version": "12.1"}, node="node-2", verdict="note"),
    silent("a100", {**FUSED, "*/software/nvcc/version": "12.1"}),
)
