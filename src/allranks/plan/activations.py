"""The activations that a step keeps for its backward pass, in bytes per token and layer, and the logits of the loss.

The numbers follow from the operations that transformers 5.6 runs (`modeling_*.py`) and the tensors that torch's
autograd saves for each: RMSNorm works on a float32 copy; flash attention (arXiv 2205.14135) keeps q, k, v, the result
and one float32 per head; eager attention keeps the scores of every pair; an activation function and a product keep
their inputs. A Linear keeps its input if its weight or an adapter on it trains, and always under ZeRO-3
(DeepSpeed 0.19.8, `runtime/zero/linear.py`). PEFT 0.18.1 makes a float32 copy of an adapted Linear's input.
Korthikanti et al., arXiv 2205.05198, count the same for their shape of layer.
`tests/plan/test_activations_counted.py` compares the numbers with torch's allocations, tensor by tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from allranks.plan import families
from allranks.plan.lora import Trained
from allranks.plan.model import LINEAR, NORM, Model, Module
from allranks.plan.setting import Setting


@dataclass(frozen=True)
class Activations:
    """Bytes on one rank, for one micro-batch.

    All layers together hold `kept` bytes until their backward. The largest layer adds `layer` bytes while it is in
    backward; `attention` is the part of its bytes that exists before its feed-forward is computed. `loss` is the size
    of the logits and their gradients.
    """

    kept: float
    layer: float
    attention: float
    loss: float


@dataclass(frozen=True)
class _Rules:
    """`width` is the size in bytes of a number in the compute precision; `adapted` are the names of modules with a
    LoRA; `trains`: the base trains; `keeps_inputs`: every Linear keeps its input (ZeRO-3)."""

    model: Model
    setting: Setting
    width: float
    adapted: frozenset[str]
    trains: bool
    keeps_inputs: bool

    def input_kept(self, modules: list[Module]) -> float:
        """Bytes per token that the Linears with one common input keep of it: the input once, if it is kept, and a
        float32 copy per adapter."""
        if not modules:
            return 0.0
        columns = modules[0].tensors[0][1][-1]
        itself = self.width * columns if self.trains or self.keeps_inputs else 0.0
        copies = sum(4 * columns + 4 * self.rank for module in modules if module.name in self.adapted)
        return itself + (copies if self.width < 4 else max(0.0, copies - 4 * columns if copies else 0.0))

    @property
    def rank(self) -> int:
        return self.setting.lora.rank if self.setting.lora else 0


def activations_of(model: Model, trained: Trained | None, setting: Setting, zero3: bool) -> Activations:
    tokens = setting.rows * setting.cutoff
    adapters = setting.method == "lora"
    rules = _Rules(
        model=model,
        setting=setting,
        width=setting.weight_bytes,
        adapted=frozenset(trained.matched) if trained and adapters else frozenset(),
        trains=not adapters,
        keeps_inputs=zero3,
    )
    kinds = [_signature(modules) for modules in model.by_layer]
    first = {kind: model.by_layer[kinds.index(kind)] for kind in set(kinds)}
    each = {kind: _Layer.of(rules, _few_experts(modules)) for kind, modules in first.items()}
    largest = max(each.values(), key=lambda layer: layer.peak)
    if setting.checkpointing:
        kept = (model.layers + 1) * model.hidden * rules.width
        added = largest.peak
    else:
        kept = sum(each[kind].kept for kind in kinds)
        added = largest.peak - largest.kept
    return Activations(
        kept * tokens, added * tokens, largest.attention * tokens, _loss(model, setting) * tokens
    )


@dataclass(frozen=True)
class _Layer:
    """Bytes per token of one layer, which attention and feed-forward keep and which the backward of each adds. The
    backward pass frees the feed-forward's part before it comes to attention."""

    attention: float
    feed: float
    attention_backward: float
    feed_backward: float

    @classmethod
    def of(cls, rules: _Rules, modules: list[Module]) -> _Layer:
        return cls(_attention(rules, modules), _feed(rules, modules), *_backward(rules, modules))

    @property
    def kept(self) -> float:
        return self.attention + self.feed

    @property
    def peak(self) -> float:
        return max(self.kept + self.feed_backward, self.attention + self.attention_backward)


def is_attention(module: Module) -> bool:
    """Whether the module belongs to attention, by its name: `self_attn` in the families described here, `attn` or
    `attention` in most others."""
    return "attn" in module.name or "attention." in module.name


def _signature(modules: list[Module]) -> tuple[int, str]:
    """A key that is equal for layers of the same kind: the number of modules, and the name of the third from the
    end."""
    return len(modules), modules[-3].leaf if len(modules) > 2 else ""


def _few_experts(modules: list[Module]) -> list[Module]:
    """The layer's modules with only the first of its routed experts' modules, since the experts are alike."""
    expert = next((module for module in modules if module.expert), None)
    return [module for module in modules if not module.expert] + ([expert] if expert else [])


def _norm(rules: _Rules, size: int) -> float:
    """The float32 copy that RMSNorm squares and scales; if its weight trains, also the tensor that the weight
    multiplies."""
    return 4 * size + (rules.width * size if rules.trains else 0)


def _attention(rules: _Rules, modules: list[Module]) -> float:
    shape, width, setting = rules.model.attention, rules.width, rules.setting
    own = {module.leaf: module for module in modules if is_attention(module)}
    linears = [module for module in own.values() if module.kind == LINEAR]
    queries, values = shape.heads * shape.qk_dim, shape.heads * shape.v_dim
    eager = _is_eager(rules)
    kept = _norm(rules, rules.model.hidden) + (0 if eager else 4 * shape.heads + width * values)
    if (
        "kv_b_proj" in own
    ):  # latent: the key is assembled for every head; the value is a view of kv_b_proj's result
        kept += width * (2 * queries + own["kv_b_proj"].tensors[0][1][0])
        kept += sum(_norm(rules, module.parameters) for module in own.values() if module.kind == NORM)
        inputs = [[m] for m in linears if m.leaf in ("q_b_proj", "kv_b_proj", "o_proj")]
        inputs.append([m for m in linears if m.leaf in ("q_proj", "q_a_proj", "kv_a_proj_with_mqa")])
    else:
        groups = shape.heads if eager else shape.kv_heads
        kept += width * (queries + groups * (shape.qk_dim + shape.v_dim))
        if "q_norm" in own:
            kept += _norm(rules, queries) + _norm(rules, shape.kv_heads * shape.qk_dim)
        if "qkv_proj" in own:  # the value is a view that keeps the whole fused result
            kept += width * (queries + shape.kv_heads * shape.qk_dim)
        inputs = [[m for m in linears if m.leaf == "o_proj"], [m for m in linears if m.leaf != "o_proj"]]
    kept += sum(rules.input_kept(group) for group in inputs)
    if eager:  # the softmax in float32 and in the compute precision, and what a soft cap keeps
        kept += shape.heads * setting.cutoff * (4 + width * (2 if shape.soft_cap else 1))
    return kept


def _feed(rules: _Rules, modules: list[Module]) -> float:
    width, kept = rules.width, _norm(rules, rules.model.hidden)
    kept += sum(_norm(rules, m.parameters) for m in modules if m.leaf in _EXTRA_NORMS)
    plain = [m for m in modules if m.kind == LINEAR and not m.expert and not is_attention(m)]
    for module in plain:
        rows, columns = module.tensors[0][1]
        if module.leaf in ("gate_proj", "up_proj", "gate_up_proj"):
            kept += width * rows  # gate for the activation, up for the product
        elif module.leaf == "down_proj":
            kept += width * columns + rules.input_kept([module])  # the activation's result for the product
        else:
            kept += 8 * rows
    reads = [m for m in plain if m.leaf != "down_proj"]
    kept += rules.input_kept(reads)
    return kept + _experts(rules, modules)


_EXTRA_NORMS = (
    "post_feedforward_layernorm",
    "pre_feedforward_layernorm",
    "post_self_attn_layernorm",
    "post_mlp_layernorm",
)


def _experts(rules: _Rules, modules: list[Module]) -> float:
    """Bytes per token of the routed experts. For each of its experts a token keeps: gate and up (one tensor), the
    activation's result, the expert's result, which is multiplied by its weight, and the inputs of the Linears. The
    router's float32 scores are added once."""
    if not any(module.expert for module in modules):
        return 0.0
    model, width, size = rules.model, rules.width, inner_size(modules)
    kept = width * (3 * size + model.hidden)
    if rules.trains or rules.keeps_inputs:
        kept += width * (model.hidden + size)
    return model.experts_per_token * kept + 4 * (model.hidden + 4 * model.experts)


def inner_size(modules: list[Module]) -> int:
    """The inner size of one routed expert; 0 if the layer has none."""
    for module in modules:
        if not module.expert:
            continue
        shapes = dict(module.tensors)
        if "gate_up_proj_bias" in shapes:
            return shapes["gate_up_proj_bias"][-1] // 2
        if "gate_up_proj" in shapes:
            return shapes["gate_up_proj"][1] // 2
        return min(shapes["weight"])
    return 0


def _backward(rules: _Rules, modules: list[Module]) -> tuple[float, float]:
    """(bytes per token that the backward of attention adds at its peak, the same for the feed-forward). These are the
    gradients of a product's two factors or of a norm's float32 copy, of eager attention's scores, and of the hidden
    state that is passed on."""
    model, width = rules.model, rules.width
    inner = max((m.tensors[0][1][-1] for m in modules if m.leaf == "down_proj" and not m.expert), default=0)
    if any(m.expert for m in modules):
        inner = max(inner, model.experts_per_token * max(inner_size(modules), model.hidden))
    heads, passed = model.attention.heads, 2 * width * model.hidden
    attention = max(3 * width * heads * model.attention.qk_dim, 12 * model.hidden)
    if _is_eager(rules):
        attention = max(attention, heads * rules.setting.cutoff * (4 + width))
    feed = max(3 * width * inner, 12 * model.hidden)
    if any(m.expert for m in modules):  # each expert's share goes back into a tensor of all tokens
        feed += 8 * width * model.hidden
    return attention + passed, feed + passed


def _is_eager(rules: _Rules) -> bool:
    """Whether attention keeps its scores. Nobody knows here if flash-attn is installed: the larger figure counts."""
    asked = rules.setting.attention
    return asked == "disabled" or (asked == "auto" and families.is_eager(rules.model.family))


def _loss(model: Model, setting: Setting) -> float:
    """Bytes per token at the loss: the float32 log-softmax, its gradient and the incoming gradient of the loss, each as
    wide as the vocabulary (`ForCausalLMLoss` upcasts; torch's cross_entropy). Liger's fused loss makes none of them."""
    fused = setting.liger and setting.has_fused_loss and families.has_liger(model.family)
    return 4.0 * model.hidden if fused else setting.vocabulary_bytes * model.vocabulary
