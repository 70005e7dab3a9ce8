"""A native library cannot be loaded.

## How it is found
`lib*.so.*: cannot open shared object file: No such file or directory`, `undefined symbol` in an extension,
`version 'GLIBC_*' not found`, `Could not load library libcudnn`.

Easily confused with nccl-version-mismatch, where the undefined symbol begins with nccl;
deepspeed-op-build-failure, where the file is in torch_extensions.

## Why it matters
torch or an extension was installed without the library it was built with, or another one comes before it on
LD_LIBRARY_PATH.

## What to do
Install it again in that environment (nvidia-nccl-cu12 and related packages), and clear LD_LIBRARY_PATH; an extension
with an undefined symbol must be built for this torch.

## Source
glibc's loader prints `cannot open shared object file` in `elf/dl-load.c` and `not found (required by` in
`elf/dl-version.c`. The other texts are as people posted them in public reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.missing_python_module import CAUSE as MISSING_PYTHON_MODULE

CAUSE = Cause(__name__, explains=(MISSING_PYTHON_MODULE,))
_NAME = r"(?!lib(?:nccl|rccl)-|libtpu)[\w.+-]{3,60}\.(?:dll|dylib|so(?:\.\d{1,4}){0,3})\b"
_ABSENT = (
    rf"(?i)(?<![\w.+-]){_NAME}[^/]{{0,40}}\b(?:not (?:be )?(?:found|loaded)|missing)\b"
    rf"|\b(?:load(?:ing)?|find) (?:library |the )?['\"]?(?:\S{{0,200}}[/\\])?{_NAME}"
)
CLAIM = Claim(subject=_ABSENT, settles=_ABSENT)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:lib[\w.+-]{2,40}\.so[.\d]{0,12}|(?<!@)GLIBC\w{0,12}|CXXABI\w{0,12}|LD_LIBRARY_PATH"
        r"|shared (?:object|librar))"
    ),
    general=True,
)
PATTERNS = (
    Pattern("find libdevice directory", weight=88),  # XLA
    Pattern(
        "cannot open shared object file",
        without=(
            "torch_extensions",
            "libnccl-net",
            "nccl-tuner",
            "libnccl-profiler",
            "NCCL INFO",
            "ofi_rccl",
            "nvidia-container-cli",
            "dso_loader",
            "libtpu.so",
            "-rdmav",
        ),
    ),
    Pattern("undefined symbol", r"undefined symbol: (?!nccl)", weight=90, without=("NCCL INFO", "dlvsym")),
    Pattern("not found (required by", r"(?:GLIBC|CXXABI|GLIBCXX)_", weight=90),
    Pattern("not found", r"version [`'\"](?:GLIBC|CXXABI|GLIBCXX)_[\d.]{1,12}['`\"] not found", weight=90),
    Pattern("failed to open libnvrtc", weight=96),
    Pattern("Could not load library", r"lib(?:cudnn|cublas|nccl|cudart)\w{0,60}", weight=90),
    Pattern("Unable to find any of", r"libcudnn|libcublas|libcudart", weight=90),
    Pattern("WinError ", r"WinError (?:126|127|182|193|1114)\]", weight=90),
    Pattern("Library not loaded: ", weight=90),  # macOS
    Pattern(
        "or one of its dependencies", r"\.(?:dll|pyd|so)\b.{0,4} or one of its dependencies", weight=90
    ),  # Windows
    Pattern("Unable to find lib", r"Unable to find lib(?:rary)? [\w./-]{0,120}\.so\b", weight=90),
    Pattern("Library", r"Library lib\w{1,60} is not found", weight=90),
)
