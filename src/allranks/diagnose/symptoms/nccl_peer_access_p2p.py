"""GPUs of one node cannot reach each other's memory.

## How it is found
`peer access is not supported between these two devices` (CUDA 217), `P2P is disabled between ... GPUs`;
otherwise a silent hang in the first collective on one node that disappears with NCCL_P2P_DISABLE=1.

Easily confused with collective-timeout-straggler.

## Why it matters
NCCL's direct copies between GPUs fail: PCIe ACS or the IOMMU redirects them, the driver does not
support it, or (Ray) each process sees one GPU alone.

## What to do
Switch off ACS or IOMMU translation on that host, or set NCCL_P2P_DISABLE=1 at the cost of speed; with Ray and one
visible GPU per process, set NCCL_CUMEM_ENABLE=0.

## Source
NCCL 2.30.7 prints `is disabled between` in `src/graph/paths.cc` and `Cuda failure` in
`src/include/checks.h`. The other texts are CUDA's own, as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from allranks.diagnose.symptom import WEAK, Pattern

PATTERNS = (
    Pattern("peer access is not supported"),
    Pattern("is disabled between", weight=WEAK),
    Pattern("Cuda failure", r"Cuda failure (?:217|'peer access|704|'?peer)"),
    Pattern("peer mapping resources exhausted"),
)
