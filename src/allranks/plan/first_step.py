"""How long until the first step is done: processes, weights from storage, weights to the ranks, the step itself.

Reading, from transformers' source: before version 5 rank 0 alone reads; since 5 every rank reads, and a node's page
cache serves all but the first. Under ZeRO-3 rank 0 broadcasts each tensor in both
(`GatheredParameters(modifier_rank=0)`; 4.52 in `modeling_utils.py`, 5.6 in `integrations/deepspeed.py`). Local disks
are read by each node for itself. With `environment: {loader: own}` all ranks together read the base once, and nothing
is sent (docs/loading.md).
"""

from __future__ import annotations

from typing import Any

from allranks.plan.planning_input import Case

STORAGE = (
    ("one NFS server at 1 GB/s", 1e9),
    ("a parallel filesystem at 10 GB/s", 10e9),
    ("local NVMe at 5 GB/s", 5e9),
)
"""Speeds of storage (assumed): one 10 Gb link, a Lustre or GPFS client of a 100 Gb link, a PCIe 3 or 4 drive."""

PROCESSES_SECONDS = 60.0
"""From torchrun to a process group and a tokenizer (assumed): importing torch, DeepSpeed and transformers takes 15 to
40 s from a container's overlay, the rendezvous and NCCL's first communicator the rest."""


def loading(case: Case) -> dict[str, Any]:
    """Seconds until the weights are read, by kind of storage. `bytes` are those of the files, `node_bytes` those that
    the node with most ranks reads (before transformers 5 the head alone reads)."""
    size = case.file_bytes
    readers = len(case.nodes) if case.model.fused_experts and not case.loads_own else 1
    of_node = max(case.nodes) / case.ranks if case.loads_own else 1.0
    return {
        "bytes": int(size),
        "node_bytes": int(size * of_node),
        "readers": readers,
        "seconds": {
            name: size * (of_node if name.startswith("local") else readers) / speed for name, speed in STORAGE
        },
    }


SENT_TIMES = 2
"""How often rank 0 broadcasts every parameter under ZeRO-3 in the stock way: once when the empty model is built, and
once with the values (`benchmarks load` counts 2.0 times the model with transformers 5.6)."""


def sending_seconds(case: Case) -> float:
    """Rank 0's broadcasts of all weights: S bytes take S over the network's rate (a ring or tree; nccl-tests,
    PERFORMANCE.md)."""
    if case.loads_own or not case.sharded or len(case.nodes) < 2:
        return 0.0
    whole = case.model.total_parameters * case.setting.weight_bytes
    return SENT_TIMES * whole / case.hardware.network.bytes_per_second


def first_step(case: Case, step_seconds: float | None) -> dict[str, Any]:
    """The parts in seconds, and `seconds` by kind of storage. Tokenizing the data set comes on top: rank 0 does it
    once, the others wait, and later runs find it in the cache."""
    read = loading(case)
    fixed = PROCESSES_SECONDS + sending_seconds(case) + (step_seconds or 0.0)
    return {
        "processes_seconds": PROCESSES_SECONDS,
        "sending_seconds": sending_seconds(case),
        "step_seconds": step_seconds,
        "seconds": {name: fixed + seconds for name, seconds in read["seconds"].items()},
        "without": "tokenizing the data set",
    }
