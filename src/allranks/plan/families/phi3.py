"""Phi-3 and 4: q, k, v in one projection, gate and up in another."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 32064,
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}


def describe(parts: Parts) -> None:
    for _ in parts.layers():
        parts.fused_attention()
        parts.fused_mlp()
        parts.norms()
