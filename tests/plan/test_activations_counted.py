"""Activations against what torch allocates: every storage of a real forward and backward, counted on CPU."""

from __future__ import annotations

import os
import weakref
from typing import Any

import pytest

from allranks.core import Cluster, Node
from allranks.plan.activations import activations_of
from allranks.plan.families import describe
from allranks.plan.lora import trained_by_lora
from allranks.plan.setting import setting_of
from allranks.plan.trainable import trained_fully
from allranks.spec import Run, Train

pytestmark = pytest.mark.training

LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 2000,
}
PHI3 = {**LLAMA, "model_type": "phi3", "num_key_value_heads": 8, "pad_token_id": 0}
GEMMA2 = {**LLAMA, "model_type": "gemma2", "head_dim": 64}
QWEN3_MOE = {
    **LLAMA,
    "model_type": "qwen3_moe",
    "head_dim": 64,
    "moe_intermediate_size": 256,
    "num_experts": 8,
    "num_experts_per_tok": 2,
}
DEEPSEEK_V3 = {
    **LLAMA,
    "model_type": "deepseek_v3",
    "num_key_value_heads": 8,
    "moe_intermediate_size": 256,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 4,
    "first_k_dense_replace": 1,
    "q_lora_rank": 128,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 96,  # as wide as q and k: on CPU torch has flash attention for nothing else
}
QV, MLA = "q_proj,v_proj", "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
CASES: list[tuple[str, dict[str, Any], str | None, bool, str]] = [
    ("llama", LLAMA, QV, False, "sdpa"),
    ("llama checkpointed", LLAMA, QV, True, "sdpa"),
    ("llama, all", LLAMA, "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj", False, "sdpa"),
    ("llama, full", LLAMA, None, False, "sdpa"),
    ("llama, eager", LLAMA, QV, True, "eager"),
    ("large vocabulary", {**LLAMA, "vocab_size": 32000, "num_hidden_layers": 2}, QV, True, "sdpa"),
    ("phi3", PHI3, "qkv_proj", False, "sdpa"),
    ("gemma2", GEMMA2, QV, False, "eager"),
    ("qwen3_moe", QWEN3_MOE, QV, False, "sdpa"),
    ("deepseek_v3", DEEPSEEK_V3, MLA, False, "sdpa"),
    ("deepseek_v3 checkpointed", DEEPSEEK_V3, MLA, True, "sdpa"),
]
LEAST, MOST = -0.05, 0.20
"""Too little would be a false `fits`; too much, small parts of a large total."""
BATCH, TOKENS, RANK = 2, 512, 8


def planned_bytes(
    config: dict, targets: str | None, checkpointed: bool, attention: str, zero3: bool
) -> float:
    arguments = {
        "per_device_train_batch_size": BATCH,
        "cutoff_len": TOKENS,
        "bf16": True,
        "lora_rank": RANK,
        "disable_gradient_checkpointing": not checkpointed,
        "flash_attn": "disabled" if attention == "eager" else "sdpa",
        "finetuning_type": "lora" if targets else "full",
        **({"lora_target": targets} if targets else {}),
    }
    setting = setting_of(Run("x", Cluster((Node("a", "h", 0, 1),)), Train("llamafactory", arguments)))
    model = describe(config)
    trained = trained_by_lora(model, setting.lora) if setting.lora else trained_fully(model)
    found = activations_of(model, trained, setting, zero3)
    return max(found.kept + found.loss, found.kept + found.layer)


def calculated(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result as asked for; matrix products in float32 on the way, and nobody counts that copy.

    A processor without bfloat16 takes a minute for a model's bfloat16 products (torch's plain loops, one thread).
    """
    import torch
    from torch.utils._pytree import tree_map_only

    if not any(name in str(function) for name in ("mm.default", "scaled_dot_product")):
        return function(*args, **kwargs)
    half = any(isinstance(one, torch.Tensor) and one.dtype == torch.bfloat16 for one in args)
    wide = tree_map_only(torch.Tensor, lambda one: one.float() if one.dtype == torch.bfloat16 else one, args)
    result = function(*wide, **kwargs)
    if isinstance(result, torch.Tensor):
        return result.bfloat16() if half else result
    first, *rest = result  # of attention: what comes out in the inputs' type, and (forward) float32 sums
    rest = [one.bfloat16() if half and "backward" in str(function) else one for one in rest]
    return (first.bfloat16() if half else first, *rest)


def a_counter(known: set[int]):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter

    class Counter(TorchDispatchMode):
        """Live and greatest bytes of all storages made under it, but those `known` before."""

        def __init__(self) -> None:
            super().__init__()
            self.live = self.peak = 0
            self.seen = dict.fromkeys(known, 0)

        def _drop(self, key: int, size: int) -> None:
            if self.seen.pop(key, None) is not None:
                self.live -= size

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = calculated(function, args, kwargs or {})
            for tensor in tree_iter(result):
                if isinstance(tensor, torch.Tensor):
                    storage = tensor.untyped_storage()
                    key, size = storage._cdata, storage.nbytes()
                    if key not in self.seen:
                        self.seen[key] = size
                        self.live += size
                        self.peak = max(self.peak, self.live)
                        weakref.finalize(storage, self._drop, key, size)
            return result

    return Counter()


def counted_bytes(config: dict, targets: str | None, checkpointed: bool, attention: str, zero3: bool) -> int:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import peft
    import torch
    import transformers
    from deepspeed.runtime.zero.linear import zero3_linear_wrap

    torch.manual_seed(0)
    values = {key: value for key, value in config.items() if key != "model_type"}
    made = transformers.AutoConfig.for_model(config["model_type"], **values)
    model = transformers.AutoModelForCausalLM.from_config(
        made, dtype=torch.bfloat16, attn_implementation=attention
    )
    if targets:
        wanted = peft.LoraConfig(task_type="CAUSAL_LM", r=RANK, target_modules=targets.split(","))
        model = peft.get_peft_model(model, wanted)
        model.enable_input_require_grads()
    if checkpointed:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    ids = torch.randint(0, made.vocab_size, (BATCH, TOKENS))
    kept = {tensor.untyped_storage()._cdata for tensor in (*model.parameters(), *model.buffers())}
    plain = torch.nn.functional.linear
    torch.nn.functional.linear = zero3_linear_wrap if zero3 else plain
    try:
        with a_counter(kept) as counter:
            out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids, use_cache=False)
            loss = out.loss
            del out
            loss.backward()
    finally:
        torch.nn.functional.linear = plain
    gradients = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    return counter.peak - (
        gradients if checkpointed else 0
    )  # without, the peak is the loss, before any gradient


@pytest.mark.parametrize(
    "zero3", [pytest.param(False, id="plain", marks=pytest.mark.seldom), pytest.param(True, id="zero3")]
)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_activations(case: tuple[str, dict, str | None, bool, str], zero3: bool) -> None:
    _, config, targets, checkpointed, attention = case
    planned = planned_bytes(config, targets, checkpointed, attention, zero3)
    counted = counted_bytes(config, targets, checkpointed, attention, zero3)
    assert LEAST <= planned / counted - 1 <= MOST, (
        f"planned {planned / 2**20:.1f}, counted {counted / 2**20:.1f} MiB"
    )
