"""DeepSeek-V2: latent attention; dense layers first, then routed and shared experts."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

HAS_LIGER = False

DEFAULTS = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "first_k_dense_replace": 0,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_experts_per_tok": 0,
    "moe_intermediate_size": 1407,
}


def describe(parts: Parts) -> None:
    bias, size = parts.config.flag("mlp_bias"), parts.config.positive("moe_intermediate_size")
    for index in parts.layers():
        parts.latent_attention()
        if index >= parts.config.whole("first_k_dense_replace"):
            count = parts.config.positive("n_routed_experts")
            parts.router("mlp.gate", count, linear=True)
            parts.experts(count, size)
            if parts.config.get("n_shared_experts") is not None:
                parts.mlp("mlp.shared_experts", size * parts.config.whole("n_shared_experts"), bias)
        else:
            parts.mlp(bias=bias)
        parts.norms()
