"""Mistral 7B and its successors with the same shape."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}


def describe(parts: Parts) -> None:
    for _ in parts.layers():
        parts.attention()
        parts.mlp()
        parts.norms()
