"""Mixtral: every layer's feed-forward is a set of routed experts."""

from __future__ import annotations

from allranks.plan.families._parts import Parts

DEFAULTS = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_experts_per_tok": 2,
    "num_local_experts": 8,
}


def describe(parts: Parts) -> None:
    # transformers < 5 called the block `block_sparse_moe` and its expert's Linears w1, w3 and w2.
    block = "mlp" if parts.fused else "block_sparse_moe"
    count = parts.config.positive("num_local_experts")
    for _ in parts.layers():
        parts.attention()
        parts.router(f"{block}.gate", count, linear=not parts.fused)
        parts.experts(
            count, parts.config.positive("intermediate_size"), block=block, names=("w1", "w3", "w2")
        )
        parts.norms()
