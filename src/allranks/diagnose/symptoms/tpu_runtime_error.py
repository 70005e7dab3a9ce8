"""A TPU or its runtime failed.

## How it is found
`The TPU is already in use by process with pid *`, `TPU initialization failed`, `Unable to initialize
backend 'tpu'`, `Mosaic failed to compile TPU kernel`, `slice_builder`, `worker … has crashed or been
preempted`, `megascale` errors.

Easily confused with node-failure, when a host is gone.

## Why it matters
A second process holds the chips, not all hosts of the slice started, or one was preempted; the rest of
the slice then cannot continue.

## What to do
Start the same program on every host of the slice at once. Find the process that holds `/dev/accel*` or
`/dev/vfio/*` on the host that is named and let its owner end it. After a preemption start again from the
last checkpoint.

## Source
PyTorch/XLA prints `Exception in device=TPU` in `torch_xla/distributed/xla_multiprocessing.py`. The other
texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:TPUs?|tpu\w{0,20}|libtpu\w{0,10}|PJRT\w{0,20}|torch_xla|megascale|MEGASCALE"
        r"|v[2-6][ep]?-\d{1,5}|XLA:TPU|xla_device|XLA(?!.{0,200}(?:GPU|gpu|CUDA|cuda|[Nn]euron))"
        r"|InitializeComputationClient|xrt\w{0,20}"
        r"|XRT\w{0,20})\b"
    ),
)
PATTERNS = (
    Pattern("Exception in device", r"Exception in device=TPU:\d", weight=88),
    Pattern(
        "/job:tpu_worker",
        r"(?:Unavailable|Aborted|Internal|Failed precondition|Deadline)\w{0,20}: From /job:tpu",
        weight=88,
    ),
    Pattern("TPU is already in use"),
    Pattern("TPU initialization failed", weight=96),
    Pattern("mesh_service.cc", r"Check failed: ", weight=88),  # torch_xla
    Pattern("TPU backend initialization is taking more", weight=60),
    Pattern("Halt is unexpected", r"all pending programs will fail", weight=94),
    Pattern("connect to remote server at address", r"grpc://", weight=88),
    Pattern(
        "backend 'tpu'",
        r"[Uu]nable to initialize backend 'tpu'",
        weight=60,
        without=("NOT_FOUND", "TpuPlatform is not", "cannot open shared object"),  # of JAX on GPUs
    ),
    Pattern("Mosaic failed to compile", weight=96),
    Pattern("halted unexpectedly", r"(?:Core|device|Node \d{1,5}) halted", weight=94),
    Pattern("TensorCoreSequencer", weight=90),
    Pattern("Cannot replicate if number of devices", weight=90),
    Pattern("TpuCompiler_", weight=60),
    Pattern("slice_builder", r"(?i)slice_builder.{0,200}(?:error|fail|timed? ?out|deadline)", weight=94),
    Pattern("has crashed or been preempted", weight=88),
    Pattern("lame workers found", weight=88),
    Pattern("No TPU devices were found", weight=90),
    Pattern(
        "libtpu",
        r"(?i)libtpu.{0,80}(?:lockfile|already|failed|error)",
        weight=90,
        without=("nable to initialize backend",),
    ),
    Pattern("MEGASCALE", r"(?i)megascale.{0,200}(?:error|deadline|unavailable|hang)", weight=88),
)
