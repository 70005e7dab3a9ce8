"""torch or a kernel was not built for this GPU.

## How it is found
`no kernel image is available for execution on the device`, `sm_120 is not compatible with the current
PyTorch installation`, `ptxas fatal : Value 'sm_120' is not defined for option 'gpu-name'`, `Unsupported
gpu architecture 'compute_90'`.

Easily confused with cuda-driver-too-old, where the driver is too old.

## Why it matters
The binary holds no code for this GPU's architecture: the wheel or the compiler is older than the GPU, or
an extension was built for another one.

## What to do
Install a torch whose CUDA knows the GPU (Hopper: 11.8 and newer, Blackwell: 12.8 and newer), and build
extensions again with `TORCH_CUDA_ARCH_LIST` of this GPU. Triton brings its own ptxas: a newer triton, or
`TRITON_PTXAS_PATH`.

## Source
PyTorch's `c10/cuda/CUDAException.cpp` prints `CUDA error:` and the text that CUDA gives for the error code.
PyTorch 2.13 warns `is not compatible with the current PyTorch installation` in `torch/cuda/__init__.py`.
flash-attention raises `only supports Ampere GPUs` in `csrc/flash_attn/flash_api.cpp`. The texts of `ptxas`
and `nvcc` are as people posted them.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
_OLD = (
    r"(?:[VP]100s?|T4s?|P40s?|[KM][468]0s?|GTX ?\w{3,8}|RTX ?20[678]0(?: ?Ti)?|(?:20|10)80 ?Ti"
    r"|Quadro RTX \d{4}|Titan \w{1,3})"
)
"""GPUs that kernels leave out first."""
_SETTLED = (
    r"(?i)\bcompute[ _]capabilit(?:y|ies)\b"
    r"|\b(?:device|gpu|cuda)s? (?:with |of |has )?(?:cuda )?capability\b"
    r"|^(?!.{0,200}\b(?:nccl|p2p|nvlink|peer|drivers?|b?fp?16|bfloat16|fp8|tf32)\b).{0,200}?"
    rf"(?:\b(?:not|n't|no) (?:yet )?(?:support\w{{0,5}}|compatible)\b.{{0,40}}\b{_OLD}\b"
    rf"|\b{_OLD}\b.{{0,60}}\b(?:not|n't) (?:yet )?(?:support\w{{0,5}}|compatible)\b)"
)
CLAIM = Claim(
    subject=(
        r"(?i)\bcompute[ _]capabilit(?:y|ies)\b|(?:\b|_)sm[ _]?\d{2,3}\w?\b|\b(?:ampere|hopper|blackwell|volta"
        r"|turing|ada)\b"
        r"|\bgpu arch(?:itecture)?s?\b|\bcuda arch(?:itecture)?s?\b"
        r"|\b(?:device|gpu|cuda)s? (?:with |of |has )?(?:cuda )?capability\b"
    ),
    settles=_SETTLED,
    settings=True,
)
PATTERNS = (
    Pattern("no kernel image is available", weight=99),
    Pattern("is not compatible with the current PyTorch installation", weight=60),
    Pattern("ptxas fatal", r"ptxas fatal.{0,40}Value 'sm_\w{2,8}'"),
    Pattern("is not defined for option", r"sm_\w{2,8}' is not defined for option 'gpu-name'"),
    Pattern("No supported GPU(s) detected", weight=96),  # NVIDIA's containers
    Pattern("yet supported in this version of the container", weight=90),
    Pattern("Unsupported gpu architecture"),
    Pattern("not supported on .target", r"not supported on \.target 'sm_\w{2,8}'"),
    Pattern("only supports Ampere GPUs", weight=99),
    Pattern("requires a GPU with compute capability", weight=94),
    Pattern("requires device with capability", weight=94),
    Pattern("Unknown CUDA arch", weight=99),
    Pattern("no longer supports this GPU because", weight=60),
    Pattern("is not a recognized processor", r"'sm_\w{2,8}' is not a recognized processor", weight=60),
    Pattern("too old to be supported by the triton", weight=99),
    Pattern("cudaErrorNoKernelImageForDevice", weight=99),
    Pattern(
        "device function", r"(?i)\binvalid device function", weight=92, without=("HIP", "hip", "ROCm", "gfx")
    ),
)
