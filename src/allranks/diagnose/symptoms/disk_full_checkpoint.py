"""The disk or the quota is full.

## How it is found
`No space left on device`, `Disk quota exceeded`; behind torch.save only `basic_ios::clear: iostream error`
and `inline_container.cc:* . unexpected pos A vs B`, or `PytorchStreamWriter failed writing file`. `[Errno 27] File too
large` means a limit on the size of a file (`ulimit -f`, or the file system's own).

Easily confused with shm-too-small, where the line names /dev/shm or </torch_*>.

## Why it matters
A file, mostly a checkpoint, could not be written whole; do not trust it.

## What to do
Free space where the run saves (`df -h`, `df -i`, `quota`), keep fewer checkpoints, save adapters alone. The
same text was seen with free space after an I/O error: look at `df` first. If a file is too large, look at `ulimit -f`.

## Source
`No space left on device`, `Disk quota exceeded` and `File too large` are glibc's texts for ENOSPC, EDQUOT and EFBIG,
`sysdeps/gnu/errlist.h`. PyTorch raises `unexpected pos` and `PytorchStreamWriter failed` in
`caffe2/serialize/inline_container.cc`; `file write failed` is in `libtorch_cpu.so` of version 2.13. The
other texts are as people posted them in public reports.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.checkpoint_corrupt_resume_fail import CAUSE as CHECKPOINT_CORRUPT_RESUME_FAIL

CAUSE = Cause(__name__, explains=(CHECKPOINT_CORRUPT_RESUME_FAIL,))
_SHM = ("/dev/shm", "</torch_", "shared memory", "posix_fallocate")
CLAIM = Claim(
    subject=(
        r"(?i)^(?!.{0,400}(?:/dev/shm|shared memory|\bgpu memory|cuda))(?=.{0,300}(?:\bno space\b"
        r"|\bdisk (?:space|quota|is full|full)"
        r"|\bnot enough (?:free )?(?:disk |storage )?space\b|\bout of (?:disk|storage|space|inodes)"
        r"|\bfree inodes|\bquota exceeded"
        r"|\benospc\b|\b(?:gi?b|mi?b|tb|bytes) (?:is |are )?(?:free|available|left) (?:on|in) /"
        r"|\bstorage (?:is )?full))"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bdisk (?:is |was )?(?:full|space|quota|pressure)|emptydir|\bfile ?system\b.{0,80}\bfull\b"
        r"|\bvolume\b.{0,40}(?:exceed|limit|full)|\bno (?:free |more )?(?:disk )?space|\binodes?\b|ENOSPC"
        r"|\bnot enough (?:free )?(?:disk )?space"
        r"|DiskPressure|is over \d{1,3}% full|ephemeral[- ]storage|\bquota exceeded|out of (?:disk|space)"
        r"|\u78c1\u76d8(?:\u7a7a\u95f4)?(?:\u4e0d\u8db3|\u5df2?\u6ee1)"
    ),
)
PATTERNS = (
    Pattern("was low on resource", r"low on resource: ephemeral-storage"),  # Kubernetes
    Pattern("No space left on device", without=_SHM),
    Pattern("Disk quota exceeded"),
    Pattern("not enough space on the disk", weight=98),  # Windows
    Pattern("StorageFull", weight=98),  # Rust
    Pattern("blocks instead of", r"write error: wrote \d{1,15} blocks", weight=86),  # Torch7
    # Without the reason these only make it likely: I/O errors and quotas are reported in the same words.
    Pattern("unexpected pos", r"unexpected pos \d{1,12} vs \d{1,12}", weight=92),
    Pattern("PytorchStreamWriter failed writing", weight=92),
    Pattern("iostream error", weight=90),
    Pattern("file write failed", weight=90),
    Pattern("failed to write", r"(?i)os error 28|errno 28"),
    Pattern(
        "File too large", r"(?:os error|\[Errno) 27\b", weight=86
    ),  # `ulimit -f`, or a limit of the file system
)
