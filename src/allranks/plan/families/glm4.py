"""GLM-4 (0414): biases on q, k and v, fused gate and up, a norm before and after both blocks."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 151552,
    "hidden_size": 4096,
    "intermediate_size": 13696,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "attention_bias": True,
}


def describe(parts: Parts) -> None:
    for _ in parts.layers():
        parts.attention(bias=parts.config.flag("attention_bias"))
        parts.fused_mlp()
        parts.norms("post_self_attn_layernorm", "post_mlp_layernorm")
