"""gpt-oss: attention sinks, biases everywhere, experts always fused and stored (in, out)."""

from __future__ import annotations

from allranks.plan.families._parts import Parts
from allranks.plan.model import ROUTER

DEFAULTS = {
    "num_hidden_layers": 36,
    "num_local_experts": 128,
    "vocab_size": 201088,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "head_dim": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_experts_per_tok": 4,
    "attention_bias": True,
}


def describe(parts: Parts) -> None:
    c = parts.config
    bias, size = c.flag("attention_bias"), c.positive("intermediate_size")
    count = c.positive("num_local_experts")
    for _ in parts.layers():
        parts.attention(bias=bias, out_bias=bias)
        parts.other("self_attn", ("sinks", (c.positive("num_attention_heads"),)))
        parts.add("mlp.router", ROUTER, ("weight", (count, parts.hidden)), ("bias", (count,)))
        parts.fused_experts_with_bias(count, size)
        parts.norms()
