"""Tensors are on different devices.

## How it is found
`Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1` (or
cpu), `Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same`.

Easily confused with duplicate-gpu, where all ranks use GPU 0.

## Why it matters
A part of the model or of a batch was not moved to the rank's own GPU, or `device_map="auto"` spread the
model over GPUs that belong to other ranks.

## What to do
No `device_map="auto"` in a run of several ranks (`{"": LOCAL_RANK}` instead); move every input with
`.to(model.device)`; with offload, take tensors that the script makes itself to the module's device.

## Source
`Expected all tensors to be on the same device` and `Cannot copy out of meta tensor` are in
`libtorch_cpu.so` of PyTorch 2.13; `torch/nn/modules/module.py` has the second text too.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:different|same|correct|wrong|meta|single|expected) devices?\b|\bdevice_ids\b"
        r"|\boutput_device\b"
        r"|\bdevice types? (?:of|but|mismatch|as|cpu|cuda|gpu|xpu|npu|hpu|mps|meta|[:=(])|\bmeta tensor"
        r"|\bdevices?\[\d{1,3}\]|\btensors?\b.{0,60}\bon (?:the )?(?:cpu|cuda|gpu"
        r"|device)"
        r"|\b(?:cpu|cuda|gpu) tensors?\b"
    ),
)
_DEVICE = r"torch\.(?:cuda|hip|xpu|npu|mps|mlu)\."
PATTERNS = (
    Pattern("Expected all tensors to be on the same device", weight=96),
    Pattern(
        "should be the same",
        rf"Input type \((?:{_DEVICE}.{{1,60}}\) and (?:weight|bias) type \((?!{_DEVICE})"
        rf"|(?!{_DEVICE}).{{1,60}}\) and (?:weight|bias) type \({_DEVICE})",
        weight=94,
    ),
    Pattern("is not on the expected device", weight=98),
    Pattern("copy out of meta tensor", weight=84),
)
