"""Llama 1 to 3 and what shares its shape."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}


def describe(parts: Parts) -> None:
    bias, mlp_bias = parts.config.flag("attention_bias"), parts.config.flag("mlp_bias")
    for _ in parts.layers():
        parts.attention(bias=bias, out_bias=bias)
        parts.mlp(bias=mlp_bias)
        parts.norms()
