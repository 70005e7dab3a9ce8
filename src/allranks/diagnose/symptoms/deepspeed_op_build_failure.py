"""A DeepSpeed operator could not be built.

## How it is found
`CUDAMismatchException`, `CUDA_HOME does not exist, unable to compile CUDA op(s)`, `Error building extension
'cpu_adam'`, `Ninja is required`; `'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'` follows it.

Easily confused with a harmless line: `Installed CUDA version * does not match ... but since the APIs are
compatible, accepting`.

## Why it matters
The operator (cpu_adam, fused_adam, ...) is compiled at first use, and this machine lacks a fitting
compiler, nvcc or ninja.

## What to do
Install ninja and a CUDA toolkit of torch's version, put both on PATH and CUDA_HOME, build ahead
(DS_BUILD_OPS) into a TORCH_EXTENSIONS_DIR of its own. Remove a stale lock file in it: waiting for one is a
silent hang.

## Source
DeepSpeed 0.19.8 raises `CUDAMismatchException`, `MissingCUDAException` and `Unable to JIT load` in
`ops/op_builder/builder.py`. PyTorch 2.13 raises `Error building extension`, `Ninja is required` and `The
detected CUDA version` in `torch/utils/cpp_extension.py`. The texts of nvcc and ninja are as people posted
them.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import CRASH, WEAK, Pattern
from allranks.diagnose.symptoms.libnccl_or_cuda_lib_not_found import CAUSE as LIBNCCL_OR_CUDA_LIB_NOT_FOUND
from allranks.diagnose.symptoms.missing_system_tool import CAUSE as MISSING_SYSTEM_TOOL
from allranks.diagnose.symptoms.op_build_waits import CAUSE as OP_BUILD_WAITS
from allranks.diagnose.symptoms.version_drift_transformers_peft import (
    CAUSE as VERSION_DRIFT_TRANSFORMERS_PEFT,
)

CAUSE = Cause(
    __name__,
    explains=(
        MISSING_SYSTEM_TOOL,
        LIBNCCL_OR_CUDA_LIB_NOT_FOUND,
        VERSION_DRIFT_TRANSFORMERS_PEFT,
        OP_BUILD_WAITS,
    ),
)
CLAIM = Claim(
    frame=r"/deepspeed/ops/op_builder/|/torch/utils/cpp_extension\.py in",
    subject=(
        r"(?i)\b(?:cpu_?adam|fused_?adam|fused_?lamb|cpu_?adagrad|async_?io|ninja|op_?builder|cuda_home)\b"
        r"|\bjit[ -]?load"
    ),
    settles=(
        r"(?i)(?<![\w+])(?:gcc|g\+\+|gnu|nvcc|clang|c\+\+ compiler)(?![\w+])"
        r".{0,60}\b(?:versions?|older|newer|later|minimum)\b"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bninja\b|\bnvcc\b|\bjit\b.{0,40}(?:build|compil|load)|\bgcc\b|\bg\+\+|\bcc1plus|\bcmake\b"
        r"|\bop[- ]builder|\bcpp_extension|\bcuda_home\b|(?<!sql )\bcompil(?:e|ing|ation)"
    ),
    general=True,
)
PATTERNS = (
    Pattern("/deepspeed/ops/", r"ImportError: \S{0,300}/deepspeed/ops/\S{1,200}_op\.", weight=92),
    Pattern("The detected CUDA version", r"mismatches the version", weight=96),
    Pattern("fatal error", r"fatal error: [\w./-]{1,120}\.(?:h|hpp|cuh): No such file", weight=CRASH),
    Pattern("CUDAMismatchException"),
    Pattern("unable to compile CUDA op"),
    Pattern("Error building extension"),
    Pattern(
        "CalledProcessError", r"CalledProcessError: Command '\[?'?(?:[\w./-]{1,200}/)?ninja\b", weight=92
    ),
    Pattern("FAILED: ", r"^FAILED: (?:\[code=\d{1,5}\] )?[\w./-]{1,200}\.o\b", weight=88),  # ninja
    Pattern("cannot find", r"\bld: cannot find \S{0,300}(?:deepspeed|_adam|torch_extensions)", weight=92),
    Pattern("unsupported GNU version", weight=92),
    Pattern("Error compiling objects for extension", weight=90),
    Pattern("minimum required version by CUDA", weight=94),
    Pattern("Ninja is required"),
    Pattern("ds_opt_adam", weight=90),
    Pattern("Unable to JIT load"),
    Pattern("MissingCUDAException"),
    Pattern("nvcc fatal", weight=90),
    Pattern("version torch was compiled with", weight=WEAK, without=("compatible",)),
    Pattern("cannot open shared object file", r"torch_extensions|cpu_adam|fused_adam|utils\.so"),
    Pattern("ninja: build stopped", weight=90),
    Pattern("undefined reference to", weight=88),  # the linker
    Pattern("error: ld returned", weight=86),
)
