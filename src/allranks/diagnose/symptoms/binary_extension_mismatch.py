"""A compiled extension belongs to another torch.

## How it is found
`undefined symbol: _ZN3c10…` while `flash_attn_2_cuda`, `transformer_engine`, `apex`, `xformers` or
another extension is imported; `xFormers can't load C++/CUDA extensions`; bitsandbytes' `CUDA Setup failed
despite GPU being available`.

Easily confused with libnccl-or-cuda-lib-not-found, where a library is missing;
version-drift-transformers-peft, where a Python name is.

## Why it matters
The extension was compiled against another version, another C++ ABI or another CUDA of torch, so it cannot be loaded.

## What to do
Install the extension's build for this torch, CUDA and Python, or build it here (`pip install
--no-build-isolation --no-cache-dir --force-reinstall NAME`). After an upgrade of torch every extension
must be installed again, on every node.

## Source
bitsandbytes builds the names of its libraries in `bitsandbytes/cextension.py`; glibc's loader prints
`undefined symbol`. The other texts are as people posted them in public reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.libnccl_or_cuda_lib_not_found import CAUSE as LIBNCCL_OR_CUDA_LIB_NOT_FOUND
from allranks.diagnose.symptoms.version_drift_transformers_peft import (
    CAUSE as VERSION_DRIFT_TRANSFORMERS_PEFT,
)

CAUSE = Cause(
    __name__,
    explains=(
        LIBNCCL_OR_CUDA_LIB_NOT_FOUND,
        VERSION_DRIFT_TRANSFORMERS_PEFT,
    ),
)
_OTHERS = (
    r"(?i)\b(?:bitsandbytes|bnb|xformers|apex|mmcv|horovod|torchvision|flash[-_]?att\w{0,6}|detectron2?"
    r"|\w{0,30}extensions?)\b"
    r".{0,80}\b(?:not been built|(?:compiled|built|installed) without|not (?:compiled|built) (?:with|for|against)"
    r"|(?:compiled|built) (?:with|for|against) (?:a )?(?:different|another|older|newer))(?!.{0,60}compute capab)"
    r"|\bdifferent cuda (?:major )?versions?\b"
)
CLAIM = Claim(
    frame=(
        r"/(?:bitsandbytes|flash_attn|xformers|apex|transformer_engine)/.{0,200} in <module>"
        r"|/bitsandbytes/cextension"
    ),
    subject=(
        r"(?i)\bundefined symbol|\b(?:c\+\+|cxx11|binary)[ _-]?abi\b|\b(?:cuda|c\+\+) extensions?\b"
        r"|_cuda\w{0,12}\.(?:so|cpython)"
    ),
    settles=_OTHERS,
)
COMPLAINT = Complaint(subject=_OTHERS, settles=_OTHERS)
PATTERNS = (
    Pattern(  # an operator of another library than torch, which was built without this backend
        "Could not run '",
        r"Could not run '(?!aten::|prim::|quantized::|c10d)\w{1,40}::",
        weight=90,
        raised=True,
    ),
    Pattern("wrong ELF class", weight=90, without=("cannot be preloaded",)),  # glibc's dynamic linker
    Pattern("build with CUDA support", r"xFormers wasn't build with CUDA", weight=90),
    Pattern("undefined symbol", r"\.cpython-\w{1,40}(?:-\w{1,20}){0,3}\.so: undefined symbol", weight=98),
    Pattern("undefined symbol", r"undefined symbol: _Z(?:N|TI|TV|St)", without=("/Ascend/",)),
    Pattern(
        "undefined symbol",
        r"-packages/(?!torch/|nvidia/|tensorflow/)\S{1,200}\.so[.\d]{0,8}: undefined symbol",
        weight=98,
    ),
    Pattern("torchvision::", r"Could not run 'torchvision::", weight=98),
    Pattern("were compiled with different CUDA", weight=98),
    Pattern("Extension horovod", r"Extension horovod\S{0,20} has not been built", weight=98),
    Pattern("load C++/CUDA extensions", weight=60),
    Pattern("CUDA Setup failed despite", weight=98),
    Pattern("Setup Failed!", r"CUDA SETUP: Setup Failed!", weight=90),
    Pattern(
        "libbitsandbytes_cuda",
        r"libbitsandbytes_cuda\w{0,20}\.so.{0,80}(?:not found|cannot open|No such file|undefined)",
        weight=98,
    ),
    Pattern("DLL load failed while importing flash_attn"),
    Pattern(
        "FlashAttention",
        r"(?i)error.{0,80}FlashAttention.{0,40}(?:not compiled|was not compiled)",
        raised=True,
    ),
    Pattern(
        "has already been registered",
        r"operator \S{1,80} (?:does not exist|has already been registered)",
        raised=True,
    ),
    Pattern("operator torchvision", r"operator torchvision::\w{1,20} does not exist", weight=98),
)
