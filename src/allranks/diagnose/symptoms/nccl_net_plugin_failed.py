"""NCCL's network plugin failed.

## How it is found
`NET/OFI Couldn't open CQ`, `NET/OFI Request * completed with error`, `NET/OFI … failed`, `libfabric`,
`fi_domain`, `EFA`, `aws-ofi-nccl initialization failed`; UCX' `NET/UCX` errors.

Easily confused with ib-transport-error, which NCCL's own InfiniBand code prints; `NET/OFI` lines at INFO
without an error are harmless.

## Why it matters
The plugin that carries NCCL over EFA, libfabric or UCX could not set up or lost a transfer.

## What to do
Use the same aws-ofi-nccl, libfabric and EFA installer on every node (`fi_info -p efa`), a security group that allows
all traffic within the group, and unlimited `memlock`. `NCCL_NET=Socket` shows whether anything else is wrong; it is
slow.

## Source
aws-ofi-nccl prints `initialization failed` in `src/nccl_ofi_net.cpp` and begins each line with `NET/OFI`,
`include/nccl_ofi_log.h`. The other texts are as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"NET/OFI|aws.ofi|\b(?:libfabric(?!.{0,200}(?:cq_readerr|prov_err))|EFA|efa"
        r"|fi_(?:cq|send|recv|domain|endpoint|mr|getinfo)\w{0,20}"
        r"|OFI|libnccl-net|gpudirecttcpx\w{0,3}|NET/FasTrak|FasTrak|GPUDirectTCPX\w{0,2})\b"
    ),
)
PATTERNS = (
    Pattern("NET/OFI", r"WARN NET/OFI.{0,300}(?i:error|fail|couldn|unable|timed out|not )", weight=98),
    Pattern(
        "NET/OFI",
        r"NET/OFI (?:Request.{0,200}with error|Couldn|Unable to|Failed|.{0,80} failed\b)",
        weight=96,
    ),
    Pattern("aws-ofi-nccl initialization failed", weight=60),
    Pattern("libfabric", r"(?i)libfabric.{0,40}(?:error(?!\(\))|failed)", weight=94),
    Pattern("Unhandled error while", r"fi_(?:cq_read|send|recv|domain|endpoint)\w{0,20}", weight=94),
    Pattern("NET/UCX", r"WARN NET/UCX.{0,300}(?i:error|fail)", weight=96),
)
