"""Qwen3 MoE: Qwen3 attention, routed experts, no shared expert."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 24,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "decoder_sparse_step": 1,
    "moe_intermediate_size": 768,
    "num_experts_per_tok": 8,
    "num_experts": 128,
}


def describe(parts: Parts) -> None:
    bias = parts.config.flag("attention_bias")
    for index in parts.layers():
        parts.attention(bias=bias, out_bias=bias, qk_norm=True)
        if parts.is_sparse(index):
            count = parts.config.positive("num_experts")
            parts.router("mlp.gate", count, linear=not parts.fused)
            parts.experts(count, parts.config.positive("moe_intermediate_size"))
        else:
            parts.mlp()
        parts.norms()
