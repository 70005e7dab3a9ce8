"""Qwen 1.5, 2 and 2.5: biases on q, k and v, none on o."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
}


def describe(parts: Parts) -> None:
    for _ in parts.layers():
        parts.attention(bias=True)
        parts.mlp()
        parts.norms()
