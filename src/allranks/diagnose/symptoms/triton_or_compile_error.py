"""A kernel could not be compiled or does not fit the GPU.

## How it is found
`triton.runtime.errors.OutOfResources: out of resource: shared memory`,
`triton.compiler.errors.CompilationError`, `torch._dynamo.exc.*`, `torch._inductor.exc.InductorError`,
`BackendCompilerFailed`, `Failed to find C compiler`.

Easily confused with deepspeed-op-build-failure, of DeepSpeed's own extensions.

## Why it matters
torch.compile or a Triton kernel needs more shared memory than this GPU has, a compiler on the node, or
code that it can trace.

## What to do
Smaller blocks or another kernel for the GPU, a C compiler and Python's headers on every node (`gcc`,
`python3-dev`), `torch.compile` off (`TORCH_COMPILE_DISABLE=1`) to see whether it is the reason; clear
`~/.triton` after an upgrade.

## Source
Triton defines `OutOfResources` in `python/triton/runtime/errors.py` and raises `Failed to find C compiler`
in `python/triton/runtime/build.py`. PyTorch 2.13 defines `BackendCompilerFailed` in `torch/_dynamo/exc.py`
and raises `Cannot find a working triton installation` in `torch/_inductor/exc.py`. The other texts are as
people posted them in public reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.version_drift_transformers_peft import (
    CAUSE as VERSION_DRIFT_TRANSFORMERS_PEFT,
)

CAUSE = Cause(__name__, explains=(VERSION_DRIFT_TRANSFORMERS_PEFT,))
CLAIM = Claim(
    frame=r"/triton/|/torch/_(?:inductor|dynamo|functorch)/|/torch/__init__\.py in __call__",
    subject=(
        r"(?i)\btriton|torch\.compile|\b(?:dynamo|inductor)\b|\brecompil(?:e|ation)[ _]limit"
        r"|\b(?:nvrtc|ptxas|PTX|MLIR)\b|\bnvcc\b.{0,40}\b(?:return|compil|exit)|\bPassManager\b"
    ),
    settles=(
        r"(?i)\bgraph[ _]breaks?\b|\b(?:dynamo|inductor)\b.{0,40}\b(?:errors?|fail\w{0,4}|crash\w{0,3}"
        r"|unsupported|only supports)\b"
        r"|\b(?:torch|model)\.?[ _]?compile\b.{0,60}\b(?:fail\w{0,4}|crash\w{0,3}|errors?|breaks?|not "
        r"(?:work|support)\w{0,4})\b"
        r"|\b(?:fail\w{0,4}|crash\w{0,3}|errors?|not compatible) (?:with|in|when using|during) (?:torch\.?[ "
        r"_]?compile|inductor|dynamo)\b"
    ),
)
PATTERNS = (
    Pattern("CompilationError", r"CompilationError(?:\(['\"]|: )at \d{1,6}:\d{1,6}:", weight=90),  # Triton
    Pattern("ackend compile failed", weight=88),
    Pattern("ptxas exited with", weight=94),
    Pattern("LLVM ERROR", weight=88),
    Pattern("No PTX compilation provider", weight=94),  # XLA
    Pattern("ptxas", r"CalledProcessError: .{0,400}ptxas|ptxas fatal", weight=94),
    Pattern(  # the compiler that torch or Triton started
        "CalledProcessError",
        r"CalledProcessError: Command '.{0,100}\b(?:g\+\+|gcc|cc|clang|c\+\+)'?[ ,].{0,600}(?:torchinductor"
        r"|triton|/main\.c\b|-lcuda\b)",
        weight=92,
    ),
    Pattern("out of resource: ", r"out of resource: \w{1,20}", weight=98),
    Pattern("OutOfResources", weight=60),
    Pattern("triton.compiler", r"triton\.compiler\.errors\.\w{1,40}", raised=True, weight=94),
    Pattern("Failed to find C compiler"),
    Pattern("Triton Error", weight=94),
    Pattern("find a working triton installation", weight=94),
    Pattern("BackendCompilerFailed", raised=True, weight=94),
    Pattern("torch._dynamo.exc", r"torch\._dynamo\.exc\.\w{1,60}", raised=True, weight=92),
    Pattern("torch._inductor", r"torch\._inductor\.exc\.\w{1,60}", raised=True, weight=92),
    Pattern("cannot find -lcuda", weight=94),
    Pattern("cuda_utils", r"cuda_utils\.c\W.{0,40}error", weight=94),
    Pattern("libcuda.so cannot found", weight=94),
    Pattern("failed to translate module to LLVM", weight=94),
    Pattern("Python.h", r"fatal error.{0,80} Python\.h: No such file", weight=94),
)
