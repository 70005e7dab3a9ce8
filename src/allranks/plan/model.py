"""A model as its named modules and the shapes of their tensors, from `config.json` alone.

LoRA matching, totals, active parameters, the largest gathered unit and memory all derive from this one
description. Shapes are torch's: a Linear's weight is (out, in). Names are those of `named_modules()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

CONVOLUTION = "convolution"
LINEAR, EMBEDDING, NORM, ROUTER, EXPERTS, OTHER = "linear", "embedding", "norm", "router", "experts", "other"


class UnknownModel(Exception):
    """No description of this model exists here, or its config cannot be used; the text says why."""


class Module(NamedTuple):
    """One module that owns tensors. `tensors` is ((name, shape), …); `layer` is None outside the layers.

    `expert` tells a routed expert's tensors from what every token passes through; `shared` says that the
    tensors are another module's (a head tied to the embedding), so they count once.
    """

    name: str
    kind: str
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    layer: int | None = None
    expert: bool = False
    shared: bool = False

    @property
    def parameters(self) -> int:
        return 0 if self.shared else sum(prod(shape) for _, shape in self.tensors)

    @property
    def leaf(self) -> str:
        return self.name.rpartition(".")[2]


class Images(NamedTuple):
    """How images enter a model: patches of its vision tower per image token of the sequence, and values of a patch.

    `doubled`: the tower's activation function keeps two tensors (quick GELU). `hooked`: transformers makes the patches
    require gradients where it makes the input embeddings do so.
    """

    patches_per_token: float
    pixels: int
    doubled: bool
    hooked: bool = True


class Config:
    """A model's configuration: the values of its `config.json`, and the family's defaults for the others."""

    def __init__(self, values: Mapping[str, Any], defaults: Mapping[str, Any]):
        self._values, self._defaults = values, defaults

    def get(self, name: str) -> Any:
        """The value. An explicit null stays None, as in transformers."""
        return self._values[name] if name in self._values else self._defaults.get(name)

    def whole(self, name: str) -> int:
        """A whole number ≥ 0; raises UnknownModel if the config has something else."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
            raise UnknownModel(f"{name} is {value!r}, not a whole number")
        return int(value)

    def positive(self, name: str) -> int:
        value = self.whole(name)
        if value == 0:
            raise UnknownModel(f"{name} is 0")
        return value

    def optional(self, name: str) -> int | None:
        return None if self.get(name) is None else self.whole(name)

    def flag(self, name: str) -> bool:
        return bool(self.get(name))

    def head_dim(self) -> int:
        value = self.optional("head_dim")
        return value if value else self.positive("hidden_size") // self.positive("num_attention_heads")

    def kv_heads(self) -> int:
        value = self.optional("num_key_value_heads")
        return value if value else self.positive("num_attention_heads")


@dataclass(frozen=True)
class Attention:
    """Head counts and sizes; `qk_dim` and `v_dim` are per head. `soft_cap`: scores go through tanh."""

    heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    soft_cap: bool = False


@dataclass(frozen=True)
class Model:
    """A causal language model. `experts_per_token` of `experts` routed experts see a token (0 of 0 if dense).

    `fused_experts`: they are two tensors a layer in memory; `stored_fused`: in the checkpoint, too. A model that also
    reads images has its language model under the name `decoder`, which is empty for a language model alone; its
    `layers`, `hidden` and `attention` are those of the language model."""

    family: str
    hidden: int
    vocabulary: int
    layers: int
    attention: Attention
    modules: tuple[Module, ...]
    tied: bool = False
    experts: int = 0
    experts_per_token: int = 0
    fused_experts: bool = True
    stored_fused: bool = False
    head: str = "lm_head"
    decoder: str = ""
    images: Images | None = None

    @property
    def sees(self) -> bool:
        """Whether the model reads images besides text."""
        return bool(self.decoder)

    def is_vision(self, module: Module) -> bool:
        """Whether the module is outside the language model and its head: the vision tower or the projector."""
        return self.sees and module.name != self.head and not module.name.startswith(self.decoder + ".")

    @cached_property
    def vision_parameters(self) -> int:
        """Parameters of the vision tower and the projector; 0 for a language model alone."""
        return sum(
            size for module, size in zip(self.modules, self.sizes, strict=True) if self.is_vision(module)
        )

    @cached_property
    def by_layer(self) -> list[list[Module]]:
        layers: list[list[Module]] = [[] for _ in range(self.layers)]
        for module in self.modules:
            if module.layer is not None:
                layers[module.layer].append(module)
        return layers

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Parameters of each module, in their order."""
        return tuple(module.parameters for module in self.modules)

    @cached_property
    def total_parameters(self) -> int:
        return sum(self.sizes)

    @cached_property
    def expert_parameters(self) -> int:
        return sum(size for module, size in zip(self.modules, self.sizes, strict=True) if module.expert)

    @cached_property
    def active_parameters(self) -> int:
        """Parameters that one token passes through: everything but the routed experts it is not sent to."""
        if not self.experts:
            return self.total_parameters
        idle = self.experts - self.experts_per_token
        return self.total_parameters - self.expert_parameters * idle // self.experts

    @cached_property
    def parameters_per_layer(self) -> tuple[int, ...]:
        return self._per_layer(False)

    @cached_property
    def experts_per_layer(self) -> tuple[int, ...]:
        """Parameters of the routed experts of each layer; 0 for a dense layer."""
        return self._per_layer(True)

    def _per_layer(self, experts_alone: bool) -> tuple[int, ...]:
        counts = [0] * self.layers
        for module, size in zip(self.modules, self.sizes, strict=True):
            if module.layer is not None and (module.expert or not experts_alone):
                counts[module.layer] += size
        return tuple(counts)

    @cached_property
    def largest_unit(self) -> tuple[str, int]:
        """What ZeRO-3 gathers at once, at most: (name, parameters).

        A block with routed experts counts whole (router and shared expert too): as single modules, experts
        must be one leaf (`deepspeed.utils.set_z3_leaf_modules` on the block) or ranks that route differently
        stop in mismatched collectives; fused, they are two tensors of one module.
        """
        blocks = {module.name.partition(".experts")[0] for module in self.modules if module.expert}
        units: dict[str, int] = {}
        for module, size in zip(self.modules, self.sizes, strict=True):
            name = module.name.partition(".experts")[0] if module.expert else module.name
            # In a block the router is one level below, shared experts are two.
            for _ in range(0 if module.expert else 2):
                above = name.rpartition(".")[0]
                if above in blocks:
                    name = above
                    break
                name = above if above.rpartition(".")[0] in blocks else name
            units[name] = units.get(name, 0) + size
        largest = max(units, key=lambda unit: units[unit])
        return largest, units[largest]

    def gathered_unit(self, at_once: int) -> tuple[str, int]:
        """The largest unit if `at_once` experts are gathered together; 0: a layer's are."""
        if not at_once or not self.experts:
            return self.largest_unit
        group = self.experts_together(at_once)
        name, plain = max(
            ((m.name, size) for m, size in zip(self.modules, self.sizes, strict=True) if not m.expert),
            key=lambda one: one[1],
        )
        if plain > group:
            return name, plain
        return f"{min(at_once, self.experts)} of the {self.experts} experts of a layer", group

    def experts_together(self, at_once: int) -> int:
        """Parameters of so many of a layer's routed experts."""
        return max(self.experts_per_layer) // self.experts * min(at_once, self.experts)

    @cached_property
    def head_parameters(self) -> int:
        """Parameters of the output projection, even if it shares the embedding's tensor."""
        return self.vocabulary * self.hidden

    def containers(self) -> Iterable[str]:
        """Names of the modules that hold others and own no tensor, as `named_modules()` gives them."""
        own = {module.name for module in self.modules}
        seen: set[str] = set()
        for module in self.modules:
            parent = module.name.rpartition(".")[0]
            while parent and parent not in seen:
                seen.add(parent)
                parent = parent.rpartition(".")[0]
        return seen - own
