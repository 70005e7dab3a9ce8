"""DeepSeek-V3, R1 and Kimi K2: latent attention; some dense layers, then routed and shared experts.

The multi-token-prediction layers that the released weights carry are not part of the model transformers trains.
"""

from __future__ import annotations

from allranks.plan.families._parts import Parts

ALSO = OWN_CODE = ("kimi_k2",)

HAS_LIGER = False

DEFAULTS = {
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_shared_experts": 1,
    "n_routed_experts": 256,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "qk_nope_head_dim": 128,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
}


def describe(parts: Parts) -> None:
    size = parts.config.positive("moe_intermediate_size")
    for index in parts.layers():
        parts.latent_attention()
        if index >= parts.config.whole("first_k_dense_replace"):
            count = parts.config.positive("n_routed_experts")
            parts.experts(count, size)
            parts.router("mlp.gate", count)
            parts.mlp("mlp.shared_experts", size * parts.config.whole("n_shared_experts"))
        else:
            parts.mlp()
        parts.norms()
