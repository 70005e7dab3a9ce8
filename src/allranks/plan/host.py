"""Host memory of the fullest node: while loading, while training, while saving.

The part on loading follows transformers' source. In 5.6 (`modeling_utils.py`, `integrations/deepspeed.py`) every rank
reads all shards. The files stay mapped, so the kernel can drop their pages at any time; but experts that are stored one
by one are joined into new tensors on every rank before any is copied. 4.52 reads shard by shard, on rank 0 only. With
`environment: {loader: own}` a rank reads its own bytes piece by piece (docs/loading.md).
"""

from __future__ import annotations

from allranks.plan.planning_input import Case

GIB = 2**30

PROCESS_GPU_BYTES = 3 * GIB
"""One training process without its tensors: Python, torch with CUDA libraries, pinned staging: 2.5 to 3.5 GiB."""

PROCESS_CPU_BYTES = int(0.7 * GIB)
"""The same on CPU: 0.5 GiB of libraries and 0.2 GiB of gloo and DeepSpeed (760 MiB per rank seen with a tiny model)."""

TRAINER_BYTES = int(0.3 * GIB)
"""On CPU, LLaMA-Factory in addition: data sets, pyarrow, the trainer (1,038 MiB per rank seen in the demo)."""

SHARD_FILE_BYTES = 5 * 10**9
"""The largest file of a sharded checkpoint: transformers' `max_shard_size` was 5 GB before version 5."""


OWN_LOADER_BYTES = 16 * 2**20
"""The piece that a rank holds while allranks' loader reads its bytes (`worker/weight_files.py`, `PIECE_BYTES`)."""


def host_memory(case: Case, device_bytes: int) -> dict[str, int]:
    """Bytes on the node with most ranks. `device_bytes` is the size of a rank's tensors, which are on its GPU, or in
    host memory if it has no GPU.

    Keys: `load`, `train`, `save_stock` and `save`. `save_stock` is transformers' own save: under ZeRO-3 it gathers the
    whole model on rank 0, also for an adapter (DeepSpeed 0.19.8, `engine.py`, `save_16bit_model`). `save` is the save
    of `allranks run`: for an adapter it gathers only the trained parameters, in float32; a model that trains whole is
    saved as transformers does it.
    """
    ranks = max(case.nodes)
    process = PROCESS_GPU_BYTES if case.setting.uses_gpu else PROCESS_CPU_BYTES + TRAINER_BYTES
    resting = ranks * process + (0 if case.setting.uses_gpu else ranks * device_bytes)
    resting += ranks * _offloaded(case)
    whole = case.model.total_parameters * case.setting.weight_bytes
    trained = case.trained.parameters * 4
    stock = whole if case.sharded and (case.adapters or case.zero.gather_on_save) else trained
    return {
        "load": int(ranks * process + ranks * _offloaded(case) + _loading(case, ranks) + _own(case, ranks)),
        "train": int(resting),
        "save_stock": int(resting + stock),
        "save": int(resting + (trained if case.adapters else stock)),
    }


def _own(case: Case, ranks: int) -> float:
    """On CPU the weights themselves are in host memory while they are loaded (ZeRO-3: 1/N on each rank,
    arXiv 1910.02054, section 3)."""
    if case.setting.uses_gpu:
        return 0.0
    return ranks * case.base_bytes / (case.ranks if case.sharded else 1)


def _offloaded(case: Case) -> float:
    """Bytes that one rank offloads to host memory: its part of the weights (pinned, in 16 bits), and its part of the
    optimizer (a float32 copy, two moments and the gradient: 16 bytes per trained parameter; ZeRO-Offload,
    arXiv 2101.06840)."""
    held = 0.0
    if case.zero.offload_parameters == "cpu":
        held += case.base_bytes / case.ranks
    if case.zero.offload_optimizer == "cpu":
        held += 16 * case.trained.parameters / (case.ranks if case.zero.stage >= 1 else 1)
    return held


def joins_experts(case: Case) -> bool:
    """Whether every rank builds all joined experts in its own memory before loading."""
    model = case.model
    joined = model.experts and model.fused_experts and not model.stored_fused
    return bool(case.sharded and not case.loads_own and joined)


def _loading(case: Case, ranks: int) -> float:
    """Bytes of weights that a node holds while it reads them. The module's docstring names the sources."""
    if case.loads_own:
        return ranks * OWN_LOADER_BYTES
    whole = case.model.total_parameters * case.setting.weight_bytes
    if joins_experts(case):
        return ranks * case.model.expert_parameters * case.setting.weight_bytes
    return min(SHARD_FILE_BYTES, whole)
