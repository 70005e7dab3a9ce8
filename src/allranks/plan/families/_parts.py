"""The building blocks that families are described with: attention, feed-forward, experts, norms.

`Parts` collects modules in the order transformers builds them. Inside a layer, names are relative to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.plan.model import (
    EMBEDDING,
    EXPERTS,
    LINEAR,
    NORM,
    OTHER,
    ROUTER,
    Attention,
    Config,
    Model,
    Module,
    UnknownModel,
)


class Parts:
    """A model under construction. `config` is what the family reads; `layer` the layer being described."""

    def __init__(self, family: str, config: Config, fused_experts: bool = True):
        self.family, self.config, self.fused = family, config, fused_experts
        self.hidden = config.positive("hidden_size")
        self.vocabulary = config.positive("vocab_size")
        self.count = config.whole("num_hidden_layers")
        self.layer: int | None = None
        self.attention_shape: Attention | None = None
        self.experts_count = self.experts_per_token = 0
        self.stored_fused = False
        self._modules: list[Module] = []

    def add(self, name: str, kind: str, *tensors: tuple[str, tuple[int, ...]], expert: bool = False) -> None:
        full = name if self.layer is None else f"model.layers.{self.layer}.{name}"
        self._modules.append(Module(full, kind, tensors, self.layer, expert))

    def linear(self, name: str, inputs: int, outputs: int, bias: bool = False, expert: bool = False) -> None:
        tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (outputs, inputs)),)
        if bias:
            tensors += (("bias", (outputs,)),)
        self.add(name, LINEAR, *tensors, expert=expert)

    def norm(self, name: str, size: int | None = None) -> None:
        self.add(name, NORM, ("weight", (self.hidden if size is None else size,)))

    def norms(self, *more: str) -> None:
        """The two norms of every decoder layer, and `more`."""
        for name in ("input_layernorm", "post_attention_layernorm", *more):
            self.norm(name)

    def layers(self) -> Iterator[int]:
        """Walks the decoder layers between the embedding before and the last norm and head after them."""
        self.add("model.embed_tokens", EMBEDDING, ("weight", (self.vocabulary, self.hidden)))
        for index in range(self.count):
            self.layer = index
            yield index
        self.layer = None
        self.norm("model.norm")
        self.linear("lm_head", self.hidden, self.vocabulary)
        if self.config.flag("tie_word_embeddings"):
            self._modules[-1] = self._modules[-1]._replace(shared=True)

    def attention(self, *, bias: bool = False, out_bias: bool = False, qk_norm: bool = False) -> None:
        """Grouped-query attention: q_proj, k_proj, v_proj, o_proj, and norms of the head size on q and k."""
        heads, kv, size = self._heads()
        self.linear("self_attn.q_proj", self.hidden, heads * size, bias)
        self.linear("self_attn.k_proj", self.hidden, kv * size, bias)
        self.linear("self_attn.v_proj", self.hidden, kv * size, bias)
        self.linear("self_attn.o_proj", heads * size, self.hidden, out_bias)
        if qk_norm:
            self.norm("self_attn.q_norm", size)
            self.norm("self_attn.k_norm", size)

    def fused_attention(self) -> None:
        """q, k and v in one projection (phi3)."""
        heads, kv, size = self._heads()
        self.linear("self_attn.o_proj", heads * size, self.hidden)
        self.linear("self_attn.qkv_proj", self.hidden, (heads + 2 * kv) * size)

    def _heads(self) -> tuple[int, int, int]:
        c = self.config
        heads, kv, size = c.positive("num_attention_heads"), c.kv_heads(), c.head_dim()
        self.attention_shape = Attention(heads, kv, size, size, bool(c.get("attn_logit_softcapping")))
        return heads, kv, size

    def latent_attention(self) -> None:
        """Multi-head latent attention (DeepSeek-V2, section 2.1, arXiv 2405.04434)."""
        c, bias = self.config, self.config.flag("attention_bias")
        heads, q_rank = c.positive("num_attention_heads"), c.optional("q_lora_rank")
        kv_rank = c.positive("kv_lora_rank")
        rope, nope, value = c.whole("qk_rope_head_dim"), c.whole("qk_nope_head_dim"), c.positive("v_head_dim")
        self.attention_shape = Attention(heads, heads, nope + rope, value)
        if q_rank is None:
            self.linear("self_attn.q_proj", self.hidden, heads * (nope + rope))
        else:
            self.linear("self_attn.q_a_proj", self.hidden, q_rank, bias)
            self.norm("self_attn.q_a_layernorm", q_rank)
            self.linear("self_attn.q_b_proj", q_rank, heads * (nope + rope))
        self.linear("self_attn.kv_a_proj_with_mqa", self.hidden, kv_rank + rope, bias)
        self.norm("self_attn.kv_a_layernorm", kv_rank)
        self.linear("self_attn.kv_b_proj", kv_rank, heads * (nope + value))
        self.linear("self_attn.o_proj", heads * value, self.hidden, bias)

    def mlp(self, name: str = "mlp", size: int | None = None, bias: bool = False) -> None:
        """Gated feed-forward: gate_proj, up_proj, down_proj."""
        size = self.config.positive("intermediate_size") if size is None else size
        self.linear(f"{name}.gate_proj", self.hidden, size, bias)
        self.linear(f"{name}.up_proj", self.hidden, size, bias)
        self.linear(f"{name}.down_proj", size, self.hidden, bias)

    def fused_mlp(self) -> None:
        """Gated feed-forward with gate and up in one projection."""
        size = self.config.positive("intermediate_size")
        self.linear("mlp.gate_up_proj", self.hidden, 2 * size)
        self.linear("mlp.down_proj", size, self.hidden)

    def router(self, name: str, experts: int, linear: bool = False) -> None:
        """The gate that picks experts; a Linear where transformers < 5 (or the family) has one, else its own class."""
        if linear:
            self.linear(name, self.hidden, experts)
        else:
            self.add(name, ROUTER, ("weight", (experts, self.hidden)))

    def experts(
        self, count: int, size: int, *, block: str = "mlp", names: tuple[str, str, str] | None = None
    ) -> None:
        """Routed experts: two 3-D tensors when fused, else gate, up and down Linears for each expert."""
        self.experts_count = count
        self.experts_per_token = min(self.config.whole("num_experts_per_tok"), count)
        if self.fused:
            gate_up = ("gate_up_proj", (count, 2 * size, self.hidden))
            down = ("down_proj", (count, self.hidden, size))
            self.add(f"{block}.experts", EXPERTS, gate_up, down, expert=True)
            return
        gate, up, down_name = names or ("gate_proj", "up_proj", "down_proj")
        for index in range(count):
            self.linear(f"{block}.experts.{index}.{gate}", self.hidden, size, expert=True)
            self.linear(f"{block}.experts.{index}.{up}", self.hidden, size, expert=True)
            self.linear(f"{block}.experts.{index}.{down_name}", size, self.hidden, expert=True)

    def fused_experts_with_bias(self, count: int, size: int) -> None:
        """gpt-oss: experts as (count, in, out) tensors with a bias each, in every version of transformers."""
        self.experts_count, self.stored_fused = count, True
        self.experts_per_token = min(self.config.whole("num_experts_per_tok"), count)
        self.add(
            "mlp.experts",
            EXPERTS,
            ("gate_up_proj", (count, self.hidden, 2 * size)),
            ("gate_up_proj_bias", (count, 2 * size)),
            ("down_proj", (count, size, self.hidden)),
            ("down_proj_bias", (count, self.hidden)),
            expert=True,
        )

    def is_sparse(self, index: int) -> bool:
        """Whether a Qwen MoE layer has experts: `decoder_sparse_step` and `mlp_only_layers` decide."""
        only = self.config.get("mlp_only_layers") or []
        step, count = self.config.positive("decoder_sparse_step"), self.config.whole("num_experts")
        return index not in only and count > 0 and (index + 1) % step == 0

    def other(self, name: str, *tensors: tuple[str, tuple[int, ...]]) -> None:
        self.add(name, OTHER, *tensors)

    def model(self) -> Model:
        if self.attention_shape is None:
            raise UnknownModel("num_hidden_layers is 0")
        return Model(
            family=self.family,
            hidden=self.hidden,
            vocabulary=self.vocabulary,
            layers=self.count,
            attention=self.attention_shape,
            modules=tuple(self._modules),
            tied=self.config.flag("tie_word_embeddings"),
            experts=self.experts_count,
            experts_per_token=self.experts_per_token,
            fused_experts=self.fused,
            stored_fused=self.stored_fused,
        )
