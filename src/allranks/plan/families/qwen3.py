"""Qwen3 dense: norms on q and k, a head size of its own."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
}


def describe(parts: Parts) -> None:
    bias = parts.config.flag("attention_bias")
    for _ in parts.layers():
        parts.attention(bias=bias, out_bias=bias, qk_norm=True)
        parts.mlp()
        parts.norms()
