"""Gemma 3, the text model: Gemma 2 with norms on q and k and one full-attention layer in six."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 262208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "tie_word_embeddings": True,
}


def describe(parts: Parts) -> None:
    bias = parts.config.flag("attention_bias")
    for _ in parts.layers():
        parts.attention(bias=bias, out_bias=bias, qk_norm=True)
        parts.mlp()
        parts.norms("pre_feedforward_layernorm", "post_feedforward_layernorm")
