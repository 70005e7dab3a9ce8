"""An index was out of range on the GPU.

## How it is found
`CUDA error: device-side assert triggered`, above it lines such as `ScatterGatherKernel.cu:* Assertion
`idx_dim >= 0 && idx_dim < index_size` failed`, `Assertion `t >= 0 && t < n_classes` failed`, `Assertion
`srcIndex < srcSelectDimSize` failed`.

Easily confused with cuda-illegal-memory-access, where no assertion fails; sampling from a distribution with
NaN asserts `probability tensor contains` in the same way.

## Why it matters
A kernel met a label, token or index outside its table. The Python line that is named is only where the
error surfaced: kernels run later than they are called.

## What to do
Compare the largest token id and label with the size of the embedding and the number of classes (a
tokenizer with added tokens needs `resize_token_embeddings`; sequences must not be longer than the
positions). `CUDA_LAUNCH_BLOCKING=1`, or the same batch on the CPU, names the line.

## Source
PyTorch's `c10/cuda/CUDAException.cpp` prints `CUDA error:` and the text that CUDA gives for the error code.
The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
PATTERNS = (
    Pattern(
        "Assertion", r"\.cuh?:\d{1,6}: .{0,200}block: \[\d{1,6},\d{1,6},\d{1,6}\], thread: .{1,400} failed\."
    ),
    Pattern("device-side assert triggered", weight=96),
    Pattern("Assertion", r"\.cuh?:\d{1,6}: .{0,300}Assertion [`'\"].{1,200} failed", weight=96),
    Pattern("CUDA_ERROR_ASSERT", weight=96),
    Pattern(  # the kernels' own conditions
        "Assertion",
        r"Assertion [`'\"](?:index >= -sizes|idx_dim >= 0|srcIndex < src|t >= 0 && t < n_classes|-sizes\[i\] <= index"
        r"|input_val >= zero|target_val >= |cur_target >= 0|dstIndex < dst|index_value >= 0|ind >= 0"
        r"|probability\b).{0,200} failed",
        weight=96,
    ),
)
