"""The order in which a training step uses a model's modules: what ZeRO-3's parameter coordinator traces.

A step forward visits a module before what is inside it; a step backward visits the inside in reverse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from typing import NamedTuple

from allranks.plan.lora import Trained
from allranks.plan.model import EMBEDDING, ROUTER, Model, Module

GROUPS = 16
"""Into how many groups the tensors of a layer's single experts are put: replaying 44,544 of them one by one takes
seconds and changes no total."""

FORWARD, BACKWARD, DONE_FORWARD, DONE_BACKWARD = range(4)


class Param(NamedTuple):
    """One tensor as ZeRO-3 sees it; `whole` says that every rank keeps it (below the persistence threshold),
    `width` is the bytes of one element on the wire. `pieces` equal tensors may stand as one (single experts)."""

    elements: int
    whole: bool
    frozen: bool
    width: int = 2
    pieces: int = 1


@dataclass
class Node:
    """A module in execution order: indices of its own parameters, and the modules inside it. A `leaf` is gathered
    whole and stands for everything inside it; a `group` is one of experts in lockstep (`worker/lockstep.py`), which a
    recomputation lets go at once. `slices` are the bytes of each slice of fused experts (`worker/expert_slices.py`),
    of which two are whole while the module runs, and each of `pieces` tensors; DeepSpeed does not see them."""

    params: tuple[int, ...] = ()
    inside: list[Node] = field(default_factory=list)
    layer: bool = False
    leaf: bool = False
    group: bool = False
    slices: tuple[int, ...] = ()
    pieces: int = 0


@dataclass
class Steps:
    """`params` by index; `root` is the whole model, `embedding` its first module."""

    params: list[Param]
    root: Node


Block = Callable[[list[Module]], Node]
"""Makes the node of a block with routed experts."""

_PREFIX = re.compile(r"^(.*?\.\d+\.).*$")
_NUMBER = re.compile(r"\.(\d+)(?=\.|$)")

# Position in a decoder layer's forward: the families register norms after the blocks they precede.
_ORDER = {
    "input_layernorm": 0,
    "self_attn": 1,
    "post_self_attn_layernorm": 2,
    "post_attention_layernorm": 3,
    "pre_feedforward_layernorm": 4,
    "mlp": 5,
    "block_sparse_moe": 5,
}


def steps_of(
    model: Model,
    trained: Trained | None,
    threshold: int,
    adapters: bool,
    *,
    leaf_experts: bool = True,
    at_once: int = 0,
    widths: tuple[int, int] = (2, 4),
) -> Steps:
    """The tree of modules that a step walks. `adapters` says that `trained` are LoRA tensors beside the base;
    else they name the base's own tensors that train. `leaf_experts`: a block of routed experts is one leaf
    (`set_z3_leaf_modules`, as LLaMA-Factory does), gathered whole, or `at_once` experts at a time in lockstep. `widths`
    are the bytes of an element of the base and of an adapter (PEFT 0.18.1 makes adapters of a 16-bit base float32)."""
    params: list[Param] = []
    names = {name for name, _ in trained.tensors} if trained and not adapters else set()
    matrices = _adapter_matrices(trained) if trained and adapters else {}

    def add(elements: int, frozen: bool, width: int = widths[0], pieces: int = 1) -> int:
        params.append(Param(elements * pieces, elements <= threshold, frozen, width, pieces))
        return len(params) - 1

    def several(modules: list[Module], most: int = GROUPS) -> tuple[int, ...]:
        """A block's parameters; equal tensors of many single experts are taken together, in a few groups."""
        counts: dict[tuple[int, bool], int] = {}
        for module in modules:
            for name, shape in module.tensors:
                key = (prod(shape), f"{module.name}.{name}" not in names)
                counts[key] = counts.get(key, 0) + 1
        found: list[int] = []
        for (size, frozen), count in counts.items():
            groups = min(count, most)
            shares = [count // groups + (1 if place < count % groups else 0) for place in range(groups)]
            found += [add(size, frozen, pieces=share) for share in shares]
        return tuple(found)

    def own(module: Module) -> tuple[int, ...]:
        if module.shared:
            return ()
        return tuple(add(prod(shape), f"{module.name}.{name}" not in names) for name, shape in module.tensors)

    def leaf(module: Module) -> Node:
        base = Node(own(module))
        if module.name not in matrices:
            return base
        sizes = matrices[module.name]
        wrapped = [base, Node(), *(Node((add(size, False, widths[1]),)) for size in sizes)]
        return Node((), wrapped)

    block = _block_of(model, at_once, several, leaf, widths[0]) if leaf_experts else None
    root = _root(model, leaf, own, block)
    if adapters:  # PeftModel around LoraModel, which enters the model inside without its hooks
        root = Node((), [root])
    return Steps(params, root)


def _root(
    model: Model,
    leaf: Callable[[Module], Node],
    own: Callable[[Module], tuple[int, ...]],
    block: Block | None,
) -> Node:
    """The model with its head, as transformers nests them; `block` as of `_layer`."""
    tower = [module for module in model.modules if model.is_vision(module)]
    outside = [module for module in model.modules if module.layer is None and not model.is_vision(module)]
    before = [module for module in outside if module.kind == EMBEDDING]
    after = [module for module in outside if module.kind != EMBEDDING]
    decoder = Node((), [*(leaf(module) for module in before), *_tower(tower, leaf), Node()])
    decoder.inside += [_layer(modules, leaf, own, block) for modules in model.by_layer if modules]
    heads = [module for module in after if module.name == model.head]
    decoder.inside += [leaf(module) for module in after if module.name != model.head]
    return Node((), [decoder, *(leaf(module) for module in heads)])


def _tower(modules: list[Module], leaf: Callable[[Module], Node]) -> Iterator[Node]:
    """The vision tower and the projector, which run between the embedding and the first layer: a node for each
    numbered block, in the model's order. A step is taken to walk through all of it in both directions."""
    for prefix, inside in groupby(modules, lambda module: _PREFIX.sub(r"\1", module.name)):
        found = [leaf(module) for module in inside]
        yield found[0] if len(found) == 1 and not prefix.endswith(".") else Node((), found)


def _adapter_matrices(trained: Trained) -> dict[str, list[int]]:
    """Module name → sizes of what LoRA adds to it, in the order A, B, magnitude."""
    found: dict[str, list[int]] = {}
    for name, shape in trained.tensors:
        module, separator, _ = name.partition(".lora_")
        if separator:
            found.setdefault(module, []).append(prod(shape))
    return found


def _block_of(model: Model, at_once: int, several: Callable, leaf: Callable, width: int) -> Block:
    if not at_once:
        return lambda modules: Node(several(modules), leaf=True)
    gathers = -(-model.experts // at_once) * model.layers
    most = GROUPS if gathers <= 100 else 2  # how many Params stand for a group's tensors

    def grouped(modules: list[Module]) -> list[Node]:
        groups: dict[int, list[Module]] = {}
        for module in modules:
            if module.expert:
                number = int(_NUMBER.findall(module.name)[-1])
                groups.setdefault(number // at_once, []).append(module)
        return [Node(several(groups[one], most), leaf=True, group=True) for one in sorted(groups)]

    def block(modules: list[Module]) -> Node:
        """The router, the experts a few at a time, and the layer's other modules."""
        inside = [module for module in modules if module.expert]
        experts = [_sliced(inside, model.experts, at_once, width)] if model.fused_experts else grouped(inside)
        routers = [leaf(module) for module in modules if not module.expert and module.kind == ROUTER]
        shared = [leaf(module) for module in modules if not module.expert and module.kind != ROUTER]
        return Node((), [*routers, *experts, *([Node((), shared)] if shared else [])])

    return block


def _sliced(modules: list[Module], experts: int, at_once: int, width: int) -> Node:
    """Fused experts, `at_once` at a time."""
    tensors = [prod(shape) for module in modules for _, shape in module.tensors]
    each = sum(tensors) // experts * width
    counts = [min(at_once, experts - first) for first in range(0, experts, at_once)]
    return Node(group=True, slices=tuple(count * each for count in counts), pieces=len(tensors))


def _layer(modules: list[Module], leaf: Callable, own: Callable, block: Block | None) -> Node:
    """One decoder layer, its modules in the order in which it uses them."""
    prefix = _PREFIX.sub(r"\1", modules[0].name)
    blocks: dict[str, list[Module]] = {}
    for module in modules:
        blocks.setdefault(module.name.removeprefix(prefix).split(".")[0], []).append(module)
    node = Node(layer=True)
    for name in sorted(blocks, key=lambda block: _ORDER.get(block, 6)):
        inside = blocks[name]
        if block is not None and any(module.expert for module in inside):
            node.inside.append(block(inside))
        elif len(inside) == 1 and inside[0].name == prefix + name:
            node.inside.append(leaf(inside[0]))
        else:
            ordered = sorted(inside, key=lambda module: module.leaf == "o_proj")
            children = [leaf(module) for module in ordered if module.name != prefix + name]
            if name == "mlp":
                children.insert(1, Node())  # the activation function
            extra = tuple(
                index for module in ordered if module.name == prefix + name for index in own(module)
            )
            node.inside.append(Node(extra, children))
    return node


def forward(node: Node) -> Iterator[tuple[int, Node]]:
    yield FORWARD, node
    for inner in node.inside:
        yield from forward(inner)
    yield DONE_FORWARD, node


def below(node: Node) -> Iterator[int]:
    """Indices of all parameters of a module and of what is inside it."""
    yield from node.params
    for inner in node.inside:
        yield from below(inner)


def last_inside(node: Node) -> list[Node]:
    """The chain from a node to the last module inside it: what backward enters before it needs any activation. A group
    asks for one before it is gathered."""
    chain = [node]
    while chain[-1].inside and not chain[-1].inside[-1].group:
        chain.append(chain[-1].inside[-1])
    return chain
