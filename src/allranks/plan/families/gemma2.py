"""Gemma 2: a norm before and after both blocks, tied embedding."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

IS_EAGER = True
"""LLaMA-Factory 0.9.5 takes eager attention unless flash-attn is installed (`model/model_utils/attention.py`)."""

DEFAULTS = {
    "vocab_size": 256000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "tie_word_embeddings": True,
    "attn_logit_softcapping": 50.0,
}


def describe(parts: Parts) -> None:
    bias = parts.config.flag("attention_bias")
    for _ in parts.layers():
        parts.attention(bias=bias, out_bias=bias)
        parts.mlp()
        parts.norms("pre_feedforward_layernorm", "post_feedforward_layernorm")
