"""GLM-4.7-Flash: latent attention; the first layer dense, then routed and shared experts."""

from __future__ import annotations

from allranks.plan.families._parts import Parts
from allranks.plan.model import UnknownModel

HAS_LIGER = False

DEFAULTS = {
    "vocab_size": 154880,
    "hidden_size": 2048,
    "intermediate_size": 10240,
    "moe_intermediate_size": 1536,
    "num_hidden_layers": 47,
    "num_attention_heads": 20,
    "num_key_value_heads": 20,
    "n_shared_experts": 1,
    "n_routed_experts": 64,
    "kv_lora_rank": 512,
    "q_lora_rank": 768,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "qk_nope_head_dim": 192,
    "num_experts_per_tok": 4,
}


def describe(parts: Parts) -> None:
    c = parts.config
    size = c.positive("moe_intermediate_size")
    sparse = sparse_layers(parts)
    for index in parts.layers():
        parts.latent_attention()
        if index in sparse:
            count = c.positive("n_routed_experts")
            parts.experts(count, size)
            parts.router("mlp.gate", count)
            parts.mlp("mlp.shared_experts", size * c.whole("n_shared_experts"))
        else:
            parts.mlp()
        parts.norms()


def sparse_layers(parts: Parts) -> set[int]:
    """The layers with experts: those that `mlp_layer_types` calls sparse; without it, all but the first."""
    kinds = parts.config.get("mlp_layer_types")
    if kinds is None:
        return set(range(1, parts.count))
    if not isinstance(kinds, list) or len(kinds) < parts.count:
        raise UnknownModel(f"mlp_layer_types is not a list of {parts.count} kinds of layers")
    return {index for index, kind in enumerate(kinds) if kind == "sparse"}
