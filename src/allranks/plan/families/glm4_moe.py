"""GLM-4.5 and 4.6: first layers dense, then routed and shared experts; norms on q and k if asked."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

HAS_LIGER = False

DEFAULTS = {
    "vocab_size": 151552,
    "hidden_size": 4096,
    "intermediate_size": 10944,
    "num_hidden_layers": 46,
    "num_attention_heads": 96,
    "num_key_value_heads": 8,
    "moe_intermediate_size": 1408,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "n_routed_experts": 128,
    "first_k_dense_replace": 1,
}


def describe(parts: Parts) -> None:
    c = parts.config
    size = c.positive("moe_intermediate_size")
    for index in parts.layers():
        parts.attention(bias=c.flag("attention_bias"), qk_norm=c.flag("use_qk_norm"))
        if index >= c.whole("first_k_dense_replace"):
            count = c.positive("n_routed_experts")
            parts.experts(count, size)
            parts.router("mlp.gate", count)
            parts.mlp("mlp.shared_experts", size * c.whole("n_shared_experts"))
        else:
            parts.mlp()
        parts.norms()
