"""One thing to plan: a model, how it trains, on what. What-ifs are this with one part replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from allranks.plan.activations import Activations, activations_of
from allranks.plan.gather import NON_REENTRANT, NONE, REENTRANT, Gathered, replay
from allranks.plan.hardware import Hardware
from allranks.plan.lora import Trained, trains_experts
from allranks.plan.model import EMBEDDING, LINEAR, Model
from allranks.plan.setting import Setting
from allranks.plan.steps import Steps, steps_of
from allranks.plan.versions import Versions
from allranks.plan.vision_tower import Tower, tower_of
from allranks.plan.zero import Zero

UNCOUNTED_VISION = "the activations of the vision tower"


@dataclass(frozen=True)
class Case:
    """`nodes` are the ranks of each node; `smoke_test` says that NVLink and shared memory are switched off."""

    model: Model
    trained: Trained
    setting: Setting
    zero: Zero
    nodes: tuple[int, ...]
    hardware: Hardware
    versions: Versions
    smoke_test: bool = False
    tcp_only: bool = False
    """NCCL_IB_DISABLE is set: nodes use TCP, even if they have InfiniBand."""
    samples: int | None = None
    one_machine: bool = False
    """All nodes are this machine's loopback."""
    price: float | None = None
    """The price of one GPU hour, in any currency."""
    deepspeed: str = "auto"
    """The run file's `deepspeed`: a profile, `none`, or the path of a JSON."""
    node_names: tuple[str, ...] = ()
    asked: bool = False
    """Whether the nodes were asked for facts. If so, a fact that is still unknown is missing in their answers."""
    padded_to: int = 0
    """The number of ranks that gathered tensors are padded to; 0 means the case's own number. A what-if about more
    ranks keeps the old number: the difference is negligible, and the step need not be replayed."""
    computed: dict = field(default_factory=dict, compare=False, repr=False)
    """A cache of computed values, by the values that they depend on. What-ifs made with `replace` share it."""

    @property
    def uncounted(self) -> str:
        """A text that names what the run keeps and the plan does not count; empty if there is nothing."""
        return self.setting.uncounted or (UNCOUNTED_VISION if self.model.sees and self.tower is None else "")

    @property
    def tower(self) -> Tower | None:
        """The activations of the vision tower, at most; None for a language model, or if they cannot be counted."""
        is_zero3 = self.zero.stage == 3
        make = partial(tower_of, self.model, self.trained, self.setting, is_zero3)
        return self._once(("tower", self.setting, is_zero3), make)

    @property
    def ranks(self) -> int:
        return sum(self.nodes)

    @property
    def adapters(self) -> bool:
        return self.setting.method == "lora"

    @property
    def sharded(self) -> bool:
        """Whether the weights are split over the ranks (ZeRO-3 with more than one of them)."""
        return self.zero.stage == 3 and self.setting.quantization_bits is None

    @property
    def loads_own(self) -> bool:
        """Whether each rank reads only its own bytes of the base, and none is sent."""
        return self.sharded and self.setting.own_loader

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch on one rank, at most."""
        return self.setting.rows * self.setting.cutoff

    @property
    def adapter_width(self) -> int:
        """Bytes per element of a trained adapter. PEFT makes adapters of a 16-bit base float32, and LLaMA-Factory makes
        all trained parameters float32 without ZeRO-3. DeepSpeed before 0.19.2 converts adapters under ZeRO-3 back to
        16 bits."""
        if self.adapters and (not self.sharded or self.versions.float32_adapters):
            return 4
        return int(self.setting.weight_bytes)

    @property
    def checkpointing(self) -> str:
        if not self.setting.checkpointing:
            return NONE
        return REENTRANT if self.setting.reentrant else NON_REENTRANT

    @property
    def has_frozen(self) -> bool:
        return self.adapters or self.trained.parameters < self.model.total_parameters

    @property
    def holds_every_layer(self) -> bool:
        """DeepSpeed ≥ 0.19.3, reentrant checkpointing, a frozen base: every layer stays whole until the step's end."""
        return (
            self.sharded
            and self.checkpointing == REENTRANT
            and self.has_frozen
            and self.versions.holds_recomputed
        )

    @property
    def whole_experts(self) -> str:
        """Why a layer's experts cannot be gathered a few at a time (`worker/lockstep.py`, `worker/expert_slices.py`);
        empty if they can."""
        if not self.model.experts:
            return f"{self.model.family} has no routed experts"
        if not self.sharded:
            return "the weights are not split over the ranks (ZeRO-3)"
        if not self.model.fused_experts:
            return ""
        if self._once("trains experts", partial(trains_experts, self.model, self.trained)):
            return "the experts train, and transformers 5 holds a layer's in two tensors"
        if self.zero.hpz > 1 or self.zero.quantized_weights:
            return "hpZ or qwZ gathers them, and transformers 5 holds a layer's in two tensors"
        if self.zero.offload_parameters == "nvme":
            return "they are on NVMe, and transformers 5 holds a layer's in two tensors"
        return ""

    @property
    def at_once(self) -> int:
        """Experts that are gathered together, in lockstep or in slices; 0 if a layer's are gathered whole."""
        return self.setting.experts_at_once if not self.whole_experts else 0

    @property
    def in_slices(self) -> bool:
        """Whether fused experts are gathered a few at a time."""
        return bool(self.at_once) and self.model.fused_experts

    @property
    def unit(self) -> int:
        """Parameters of the largest unit that ZeRO-3 gathers at once."""
        return self.model.gathered_unit(self.at_once)[1]

    @property
    def gathered(self) -> Gathered:
        """What ZeRO-3 gathers in a micro-step."""
        ranks = self.padded_to or self.ranks
        widths = (int(self.setting.weight_bytes), self.adapter_width)
        holds = self.versions.holds_recomputed
        key = (self.zero.gathering, self.checkpointing, holds, widths, self.adapters, ranks, self.at_once)
        return self._once(
            key, lambda: replay(self._steps(widths), self.zero, ranks, self.checkpointing, holds)
        )

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.computed:
            self.computed[key] = make()
        return self.computed[key]

    def _steps(self, widths: tuple[int, int]) -> Steps:
        threshold, at_once = self.zero.persistence_threshold, self.at_once
        return self._once(
            ("steps", threshold, widths, self.adapters, at_once),
            lambda: steps_of(
                self.model, self.trained, threshold, self.adapters, at_once=at_once, widths=widths
            ),
        )

    @property
    def activations(self) -> Activations:
        is_zero3 = self.zero.stage == 3
        make = partial(activations_of, self.model, self.trained, self.setting, is_zero3)
        return self._once((self.setting, is_zero3), make)

    @cached_property
    def base_bytes(self) -> float:
        """The whole base in the form it rests in: 16 bits (or 32), or quantized.

        Embeddings, norms and the head are not quantized, nor are experts that are bare tensors (QLoRA, arXiv
        2305.14314, section 3).
        """
        if not self.setting.quantization_bits:
            return self.model.total_parameters * self.setting.weight_bytes
        small = sum(
            size
            for m, size in zip(self.model.modules, self.model.sizes, strict=True)
            if m.kind == LINEAR and m.name != self.model.head
        )
        whole = (self.model.total_parameters - small) * self.setting.weight_bytes
        return small * self.setting.bits_per_weight / 8 + whole

    @cached_property
    def file_bytes(self) -> float:
        """The bytes read from the base's files. FP8 files (DeepSeek-V3's release) hold the matrices, except
        embeddings, the head and routers, in one byte with a float32 scale for each block (transformers 5.6,
        `integrations/finegrained_fp8.py`, `Fp8Dequantize`)."""
        width, blocks = self.setting.weight_bytes, self.setting.stored_blocks
        if not blocks:
            return self.model.total_parameters * width
        modules = zip(self.model.modules, self.model.sizes, strict=True)
        small = sum(
            size for m, size in modules if m.expert or (m.kind == LINEAR and m.name != self.model.head)
        )
        return small * (1 + 4 / blocks) + (self.model.total_parameters - small) * 2.0

    @property
    def head_bytes(self) -> float:
        return self.model.head_parameters * self.setting.weight_bytes

    @property
    def embedding_parameters(self) -> int:
        return sum(m.parameters for m in self.model.modules if m.kind == EMBEDDING)
