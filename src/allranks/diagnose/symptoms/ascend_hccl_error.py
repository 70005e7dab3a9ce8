"""An Ascend NPU or its communication failed.

## How it is found
`EI0002`, `EI0006: Getting socket times out`, `EL0004: Failed to allocate memory`, `ERR02200 DIST call
hccl api failed`, `ERR00100 PTA call acl api failed`, `HcclAllReduce`, `aclrtSetDevice`,
`rtDeviceSynchronize`.

Easily confused with collective-timeout-straggler, which is the same wait on NVIDIA GPUs.

## Why it matters
HCCL is Ascend's NCCL. `Getting socket times out` is the echo of a rank that never came; another code
names the operation that failed on this NPU.

## What to do
Read `~/ascend/log/debug/plog` of the rank that failed first, `npu-smi info` and `hccn_tool -i N -link -g`
on its node; compare driver, firmware and CANN of all nodes, and check each NPU's IP address and link. A
long first step needs `HCCL_CONNECT_TIMEOUT` and `HCCL_EXEC_TIMEOUT`.

## Source
torch_npu (branch for PyTorch 2.13) has `call hccl api failed` and `call acl api failed` in
`torch_npu/csrc/core/npu/NPUException.cpp`, and `NPU function error` in `NPUException.h`. It prints `HCCL
function error` in `torch_npu/csrc/distributed/HCCLUtils.hpp`. The other texts are as people posted them in
public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:[Aa]scend\w{0,10}|CANN|HCCL\w{0,30}(?!.{0,200}(?:[Ss]yn(?:apse|Device)|[Gg]audi"
        r"|[Hh]abana))|[Hh]ccl\w{0,30}|HCCP|hccp\w{0,20}|NPU|npu\w{0,20}"
        r"|acl(?:rt|nn|op)?[A-Z_]\w{2,40}|ACL|torch_npu|davinci|TBE|E[A-Z]\d{4}|rtStream\w{0,30}"
        r"|rts\w{0,20}|DRV|TSCH|(?:Ascend ?)?910[AaBbCc]?\d?)\b"
    ),
)
PATTERNS = (
    Pattern("Cluster Exception Location", r"\[IP/ID\]:\[(?P<node>[\d.a-f:]{3,45})/\d{1,4}\]"),
    Pattern("hccl api failed", weight=94),
    Pattern("call hccl", weight=92),
    Pattern("Getting socket times out", weight=88),
    Pattern(
        "HCCL",
        r"(?i)(?:error|fail\w{0,3}|timeout).{0,80}\bhccl|\bhccl.{0,120}(?:error|failed|timeout)",
        weight=88,
        without=("NCCL INFO", "synapse", "synDevice", "gaudi", "habana"),
    ),
    Pattern("call acl api failed", weight=92),
    Pattern("rtDeviceSynchronize", r"(?i)fail|error", weight=88),
    Pattern("NPU function error", weight=88),
    Pattern("AclSetDevice", r"(?i)fail|error", weight=88),
    Pattern("aicore", r"(?i)aicore (?:error|exception|execution|timeout)", weight=92),
)
