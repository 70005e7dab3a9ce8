"""Shared storage failed.

## How it is found
`[Errno 116] Stale file handle`, `[Errno 37] No locks available`, `[Errno 5] Input/output error`, `Transport
endpoint is not connected`, `Remote I/O error`.

Easily confused with a mount that is missing altogether: that node alone then prints "Repo id must be in the form".

## Why it matters
The file server or its mount failed under the run; many of these come from shared Triton or inductor caches,
not from data.

## What to do
Mount again and look at the server's and the client's kernel log; put caches (TRITON_CACHE_DIR,
TORCHINDUCTOR_CACHE_DIR, HF_HOME) on local disks.

## Source
The texts are glibc's for ESTALE, ENOLCK, EIO, EREMOTEIO, ENOTCONN and ESHUTDOWN, `sysdeps/gnu/errlist.h`.
`nfs: server … not responding` is the Linux kernel's, as people posted it in public reports.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(
    __name__,
    restart=PASSES,
    is_outage=True,
    fix_of_rank="look at the file system that it reads or writes, and at dmesg, on {node}.",
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)(?<![/\w])(?:nfs\w{0,6}|lustre\w{0,20}|lnet\w{0,10}|gpfs|mmfs|beegfs|estale|stale (?:file"
        r"|nfs) handle|i/o error|eio|eremoteio|ceph\w{0,4}|s3fs|gcsfuse|mountpoint-s3|blobfuse\w{0,2}"
        r"|juicefs|goofys|weka\w{0,3}|fsx|efs|mount(?:\.\w{2,6})?|ext4-fs|xfs|buffer i/o"
        r"|blk_update_request|nvme\d?\w{0,6})\b"
    ),
)
PATTERNS = (
    Pattern("Stale file handle"),
    Pattern("Stale NFS file handle"),
    Pattern("No locks available"),
    Pattern("Input/output error", without=("shell-init", "getcwd", "UCX", "ucx")),
    Pattern("Remote I/O error"),
    Pattern("Transport endpoint is not connected", without=("socket", "NCCL", "gloo")),
    Pattern("nfs: server", r"nfs: server \S{1,120} not responding"),
    Pattern("Cannot send after transport endpoint shutdown"),
)
