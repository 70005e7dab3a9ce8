"""The nodes use different NCCL libraries.

## How it is found
At import `libtorch_cuda.so: undefined symbol: ncclComm*`; from NCCL 2.26 `Mismatched NCCL version detected`
and `NCCL version mismatch with remote peer`; before 2.26 no message at all, only different `NCCL version`
lines per host.

Easily confused with collective-timeout-straggler, since older versions only hang.

## Why it matters
Two versions of NCCL do not use the same protocol: the start fails, or hangs without a message.

## What to do
Use the same image or the same wheels on every node, only one libnccl (the cu12 and cu13 wheels overwrite each other),
and the same network plugin.

## Source
NCCL 2.30.7 prints `Mismatched NCCL version` in `src/init.cc` and `NCCL version mismatch` in
`src/ras/ras.cc`. glibc's loader prints `undefined symbol`.

Topic: network
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import WEAK, Case, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.libnccl_or_cuda_lib_not_found import CAUSE as LIBNCCL_OR_CUDA_LIB_NOT_FOUND

CAUSE = Cause(__name__, explains=(LIBNCCL_OR_CUDA_LIB_NOT_FOUND,))
PATTERNS = (
    Pattern("undefined symbol: ", r"undefined symbol: nccl\w{1,60}"),
    Pattern("Mismatched NCCL version"),
    Pattern("NCCL version mismatch"),
    Pattern("NCCL library version", r"NCCL library version mismatch"),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Before 2.26 the nodes' versions must be compared here. A difference matters only if the run failed."""
    case = seen.case("nccl-version-mismatch")
    versions = {node: v for node, v in seen.nccl_versions.items() if node is not None}
    if case is not None or len(set(versions.values())) < 2 or not (seen.blamers() or seen.exits):
        return case
    notes = tuple(f"{node}: NCCL version {version}" for node, version in sorted(versions.items())[:4])
    hits = tuple(seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id, ())[:1])
    return Case("nccl-version-mismatch", WEAK, hits, "likely", notes=notes)
