"""The parts of a GPU's memory at the moment when it is fullest, and whether they fit.

Sources: ZeRO (arXiv 1910.02054, section 3) for the states that each stage splits: 2 bytes per weight, 2 bytes per
gradient and 12 bytes of Adam (a float32 copy and two moments) per trained parameter; DeepSpeed 0.19.8 for buffers and
gathers (`gather.py`); `activations.py` for the rest. The reported parts are those of the fullest moment, so they add up
to the total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.plan.planning_input import Case

FITS, TOO_CLOSE, DOES_NOT_FIT = "fits", "too-close", "does-not-fit"

GIB = 2**30

FITS_BELOW, HOPELESS_ABOVE = 0.92, 1.05
"""Shares of the usable memory. Estimates of this kind are off by 3 to 5 % (LLMem, arXiv 2404.10933, reports at most
3.0 %; the plan's activations are at most 3 % below torch's count), and the allocator loses 2 to 3 % with expandable
segments. So the verdict is `fits` only below 92 %; up to 105 % the run may fit."""

HOST_TAKEN_FOR_GRANTED = 2**40
"""Host memory that a GPU node may not have (1 TiB: half of an 8-GPU machine of the cloud, DGX A100's data sheet). If a
run needs this much, the plan does not say that it fits before the nodes have reported their memory."""

CONTEXT_BYTES = int(0.5 * GIB)
"""A CUDA context with cuBLAS and its workspace: 0.4 to 0.5 GiB on A100 and H100 (nvidia-smi compared with torch's
count)."""

NCCL_BYTES = int(0.8 * GIB)
"""NCCL's channels and buffers: NCCL_BUFFSIZE (4 MiB) times the channels' protocols and peers, 0.3 to 1 GiB per process
for 8 GPUs (NCCL user guide, NCCL_BUFFSIZE; nccl#964)."""

FRAGMENTED = 0.02
"""Share of the allocated memory that torch's allocator holds and cannot use, with expandable segments."""

HEAP_KEEPS = 2.2
"""On CPU, glibc's heap keeps this many times the bytes that ZeRO-3 gathers, even after they were freed (tensors below
32 MiB, mallopt(3), M_MMAP_THRESHOLD). Measured: 2.1 to 2.2 times the model with 136, 341 and 752 million parameters
(docs/benchmarks.md)."""


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest rank at its fullest moment, `moment`. `parts` add up to `total`. `usable` is the memory
    that a process can have, None if the GPU is not known."""

    parts: Mapping[str, int]
    moment: str
    usable: int | None
    host: Mapping[str, int]
    host_usable: int | None
    on_gpu: bool
    uncounted: str = ""
    """Tensors that the run keeps in addition and that the plan does not count; empty if there are none."""

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def least(self) -> int:
        """The total if no sample has an image."""
        return self.total - self.parts.get("vision", 0)

    @property
    def _allocated(self) -> int:
        """The bytes that torch counts as allocated: without the context, NCCL and fragmentation."""
        return self.total - self.parts["runtime"] - self.parts["fragmentation"]

    @property
    def host_total(self) -> int:
        """The most that a node needs under `allranks run`. The trainer's own save is in `host` for comparison."""
        return self.host[self.host_phase]

    @property
    def host_phase(self) -> str:
        return max(("load", "train", "save"), key=lambda phase: self.host[phase])

    @property
    def host_in_doubt(self) -> bool:
        """Whether the hosts' memory is unknown and the run needs more than every node can be expected to have."""
        return self.on_gpu and self.host_usable is None and self.host_total >= HOST_TAKEN_FOR_GRANTED

    @property
    def gpu_fits(self) -> bool:
        return self.on_gpu and _verdict(self.total, self.usable) == FITS

    @property
    def verdict(self) -> str | None:
        """The verdict on GPU and host together; None if a deciding number is unknown. It is never `fits` if only one of
        the two is known."""
        found = [_verdict(self.host_total, self.host_usable)]
        if self.on_gpu:
            found.append(_verdict(self.least, self.usable))
            if found[1] is None and found[0] != DOES_NOT_FIT:
                return None
        known = [verdict for verdict in found if verdict]
        worst = max(known, key=(FITS, TOO_CLOSE, DOES_NOT_FIT).index) if known else None
        return None if worst == FITS and (self.host_in_doubt or self.uncounted or self.depends) else worst

    @property
    def depends(self) -> bool:
        """Whether it depends on the images if the run fits."""
        return self.on_gpu and _verdict(self.least, self.usable) == FITS != _verdict(self.total, self.usable)

    def as_json(self) -> dict[str, Any]:
        return {
            "gpu_bytes": {**self.parts, "total": self.total},
            "gpu_allocated_bytes": self._allocated if self.on_gpu else None,
            "gpu_moment": self.moment,
            "gpu_usable_bytes": self.usable,
            "gpu_margin_bytes": None if self.usable is None else self.usable - self.total,
            "host_bytes": self.host_total,
            "host_phase": self.host_phase,
            "host_parts": dict(self.host),
            "host_usable_bytes": self.host_usable,
            "verdict": self.verdict,
        }


def _verdict(needed: float, usable: int | None) -> str | None:
    if usable is None:
        return None
    if needed <= FITS_BELOW * usable:
        return FITS
    return TOO_CLOSE if needed <= HOPELESS_ABOVE * usable else DOES_NOT_FIT


def memory_of(case: Case) -> Memory:
    from allranks.plan.host import host_memory  # If a run has no GPU, the GPU's parts are in host memory.

    resting = _resting(case)
    moments = _with_images(case, _moments(case))
    moment, added = max(moments.items(), key=lambda item: sum(item[1].values()))
    parts: dict[str, float] = {
        "parameters": resting["parameters"],
        "working_set": 0,
        "lora": resting["lora"],
        "gradients": resting["gradients"],
        "optimizer": resting["optimizer"],
        "activations": 0,
        "logits": 0,
        "buffers": _buffers(case),
        "runtime": 0,
        "fragmentation": 0,
    }
    for name, size in added.items():
        parts[name] = parts.get(name, 0) + size
    on_gpu = case.setting.uses_gpu
    if on_gpu:
        parts["fragmentation"] = FRAGMENTED * sum(parts.values())
        parts["runtime"] = CONTEXT_BYTES + (NCCL_BYTES if case.ranks > 1 else 0)
    elif case.sharded:
        parts["fragmentation"] = HEAP_KEEPS * case.gathered.peak
    whole = {name: int(size) for name, size in parts.items()}
    gpu = case.hardware.gpu
    return Memory(
        parts=whole,
        moment=moment,
        usable=gpu.memory_bytes if gpu and on_gpu else None,
        host=host_memory(case, sum(whole.values())),
        host_usable=case.hardware.host_bytes,
        on_gpu=on_gpu,
        uncounted=case.uncounted,
    )


def _resting(case: Case) -> dict[str, float]:
    """The bytes that a rank holds between steps. `parameters` is the base, or a rank's part of it. `lora` is the
    adapters and the tensors that ZeRO-3 keeps whole (`stage3_param_persistence_threshold`: norms, and adapters below
    it). With T trained parameters and N ranks, gradients take 2T/N (ZeRO ≥ 2) and the optimizer 12T/N (ZeRO ≥ 1); at
    lower stages they are not split."""
    zero, ranks, trained = case.zero, case.ranks, case.trained.parameters
    width = case.setting.weight_bytes
    adapters = trained * case.adapter_width if case.adapters else 0.0
    if case.sharded:
        held = 0.0 if zero.offload_parameters else case.base_bytes / ranks
        adapters = 0.0 if zero.offload_parameters else adapters / ranks
        if zero.hpz > 1:  # a second copy, split over the node alone (ZeRO++, arXiv 2306.10209)
            held += case.base_bytes / min(zero.hpz, ranks)
        adapters += case.gathered.persistent
    else:
        held = case.base_bytes
    gradient = width if zero.enabled else case.adapter_width
    gradients = trained * gradient / (ranks if zero.stage >= 2 else 1)
    master = 4 if zero.enabled or (width < 4 and not case.adapters and not case.setting.pure_bf16) else 0
    # ZeRO keeps float32 weights beside bf16 ones, and the moments are as wide.
    states = master + (8.0 if zero.enabled and case.setting.pure_bf16 else case.setting.moment_bytes)
    optimizer = trained * states / (ranks if zero.stage >= 1 else 1)
    if zero.offload_optimizer:
        gradients, optimizer = gradients if not case.sharded else 0.0, 0.0
    return {"parameters": held, "lora": adapters, "gradients": gradients, "optimizer": optimizer}


def _buffers(case: Case) -> float:
    """Flat buffers for reducing gradients: one bucket (two if reducing overlaps, ZeRO 1 and 2). Without contiguous
    gradients a bucket is at most as large as the trained parameters. Without ZeRO, DDP's buckets are a second copy of
    the gradients (DeepSpeed 0.19.8,
    `runtime/zero/stage3.py` and `stage_1_and_2.py`, `ipg_buckets`; torch 2.13, `gradient_as_bucket_view`)."""
    zero, trained = case.zero, case.trained.parameters
    if not zero.enabled:
        # LLaMA-Factory trains in float32 without ZeRO-3, so the gradients are as wide.
        return trained * (2 if case.setting.pure_bf16 else 4) if case.ranks > 1 else 0.0
    bucket = min(zero.reduce_bucket, trained) if not zero.contiguous_gradients else zero.reduce_bucket
    count = 2 if zero.stage < 3 and zero.overlap else 1
    return bucket * case.setting.weight_bytes * count


def _moments(case: Case) -> dict[str, dict[str, float]]:
    """The additional bytes at each moment that may be the fullest: the tensors that ZeRO-3 has whole then (`gather.py`
    replays DeepSpeed's coordinator) and those that backward needs (`activations.py` counts torch's saved tensors)."""
    kept, layer, loss = case.activations.kept, case.activations.layer, case.activations.loss
    moments: dict[str, dict[str, float]] = {}
    if case.sharded:
        gathered = case.gathered
        ahead = min(gathered.peak, case.zero.max_live * case.setting.weight_bytes)
        moments["loss"] = {"working_set": max(case.head_bytes, ahead), "activations": kept, "logits": loss}
        moments["backward of the largest layer"] = {"working_set": gathered.peak, "activations": kept + layer}
        moments["gather of the largest layer"] = {
            "working_set": gathered.peak_copied + _dequantized(case),
            "activations": kept + case.activations.attention,
        }
    else:
        moments["loss"] = {"activations": kept, "logits": loss}
        moments["backward of the largest layer"] = {"activations": kept + layer}
    if case.setting.eval_batch:
        moments["evaluation"] = _evaluation(case)
    moments["optimizer step"] = {"optimizer": _step(case)}
    return moments


def _with_images(case: Case, moments: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The moments with the part `vision`, an upper bound of the vision tower's activations. Its own moment is
    before the language model's first layer, and again after its last backward."""
    tower = case.tower
    if tower is None:
        return moments
    for name, moment in moments.items():
        if name not in ("optimizer step", "evaluation"):
            moment["vision"] = tower.kept
    gathered = case.gathered.peak_copied if case.sharded else 0
    moments["vision tower"] = {"working_set": gathered, "vision": tower.kept + tower.added}
    if case.setting.eval_batch:
        rows = case.setting.eval_rows / max(1, case.setting.rows)
        moments["evaluation"]["vision"] = (tower.kept + tower.added) * rows
    return moments


def _dequantized(case: Case) -> float:
    """qwZ gathers 8-bit values and makes the 16-bit values from them in a second tensor (DeepSpeed 0.19.8,
    `partition_parameters.py`, `dequantize`). That adds half of the bytes of one gather; if tensors are gathered one by
    one, the largest gather is one tensor of one expert."""
    if not case.zero.quantized_weights:
        return 0.0
    alone = case.zero.sequential and not case.model.fused_experts and case.model.experts
    together = case.at_once or case.model.experts
    return 0.5 * case.gathered.peak / (3 * together if alone else 1)


def _evaluation(case: Case) -> dict[str, float]:
    """A forward pass with `per_device_eval_batch_size` samples: the activations of one layer, and the logits. Liger
    makes the logits here too (liger-kernel, `transformers/model/llama.py`, `skip_logits`: its fused loss is only for
    training). transformers' `ForCausalLMLoss` upcasts them and takes their log-softmax."""
    tokens = case.setting.eval_rows * case.setting.cutoff
    peak = case.gathered.peak if case.sharded else 0.0
    ahead = min(peak, case.zero.max_live * case.setting.weight_bytes)
    at_logits = {
        "working_set": max(case.head_bytes, ahead) if case.sharded else 0.0,
        "logits": 12.0 * case.model.vocabulary * tokens,
    }
    layer = case.activations.layer * tokens / max(1, case.tokens)
    in_layer = {"working_set": peak, "activations": layer}
    return max(at_logits, in_layer, key=lambda moment: sum(moment.values()))


def _step(case: Case) -> float:
    """Float32 gradients while Adam works on them: of one sub-group in stage 3 (DeepSpeed, `sub_group_size`), of the
    rank's whole part in stages 1 and 2 (`stage_1_and_2.py`, `single_grad_partition`)."""
    if not case.zero.enabled or case.zero.offload_optimizer:
        return 0.0
    own = case.trained.parameters / case.ranks
    return 4.0 * (min(own, case.zero.sub_group) if case.zero.stage == 3 else own)
