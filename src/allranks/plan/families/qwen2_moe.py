"""Qwen 1.5/2 MoE: routed experts beside one shared expert with a gate of its own."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

HAS_LIGER = False

DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "decoder_sparse_step": 1,
    "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632,
    "num_experts_per_tok": 4,
    "num_experts": 60,
    "qkv_bias": True,
}


def describe(parts: Parts) -> None:
    for index in parts.layers():
        parts.attention(bias=parts.config.flag("qkv_bias"))
        if parts.is_sparse(index):
            count = parts.config.positive("num_experts")
            parts.router("mlp.gate", count, linear=not parts.fused)
            parts.experts(count, parts.config.positive("moe_intermediate_size"))
            parts.mlp("mlp.shared_expert", parts.config.positive("shared_expert_intermediate_size"))
            parts.linear("mlp.shared_expert_gate", parts.hidden, 1)
        else:
            parts.mlp()
        parts.norms()
