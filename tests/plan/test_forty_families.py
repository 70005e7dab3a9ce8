"""At least 40 families against transformers: each module's parameters, which is what ZeRO-3 gathers."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from allranks.plan import families, meta_device
from allranks.plan.model import UnknownModel

pytestmark = pytest.mark.training

SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ALIKE = {**SMALL, "num_key_value_heads": 4}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 40}
LATENT = {
    **ALIKE,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 20,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    **EXPERTS,
}
GPT = {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 320, "n_positions": 128, "rotary_dim": 16}
PLAIN = (
    "llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 glm glm4 starcoder2 stablelm cohere cohere2 olmo "
    "olmo2 olmo3 granite persimmon ernie4_5 exaone4 smollm3 seed_oss helium bitnet apertus arcee"
)
CONFIGS: dict[str, dict[str, Any]] = {
    **{name: SMALL for name in PLAIN.split()},
    **{name: {**SMALL, **EXPERTS} for name in ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe")},
    "phimoe": {**SMALL, **EXPERTS},
    "minimax": {**SMALL, **EXPERTS, "layer_types": ["full_attention"] * 3},
    "gpt_oss": {**SMALL, **EXPERTS, "head_dim": 16},
    "glm4_moe": {**SMALL, **EXPERTS, "n_routed_experts": 4, "head_dim": 16},
    "ernie4_5_moe": {**SMALL, "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 40},
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "glm4_moe_lite": LATENT,
    "gpt_neox": ALIKE,
    "opt": {**ALIKE, "ffn_dim": 96, "word_embed_proj_dim": 64},
    "bloom": {"hidden_size": 64, "n_layer": 3, "n_head": 4, "vocab_size": 320},
    "falcon": {**ALIKE, "new_decoder_architecture": False},
    "mpt": {"d_model": 64, "n_heads": 4, "n_layers": 3, "vocab_size": 320},
    "xglm": {"d_model": 64, "attention_heads": 4, "num_layers": 3, "ffn_dim": 96, "vocab_size": 320},
    **{name: GPT for name in ("gpt2", "gptj", "codegen")},
}
QUANTIZED: dict[str, tuple[str, dict[str, Any]]] = {
    "fp8": ("deepseek_v3", {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    "mxfp4": ("gpt_oss", {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}),
    "awq": ("qwen2", {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}),
    "gptq": ("olmo2", {"quant_method": "gptq", "bits": 4, "group_size": 128}),
    "bitsandbytes": ("granite", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
}


def planned(config: dict[str, Any]):
    """The model as the plan has it: by its family's file, else by what the training environment answers."""
    try:
        return families.describe(config)
    except UnknownModel:
        return meta_device.model_of(json.loads(json.dumps(meta_device.describe(config))))


def real_sizes(config: dict[str, Any]) -> dict[str, int]:
    """Parameters of each module's own tensors, each tensor once, as transformers builds the model."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    values = {key: value for key, value in config.items() if key not in ("model_type", "quantization_config")}
    with torch.device("meta"):
        made = transformers.AutoConfig.for_model(config["model_type"], **values)
        model = transformers.AutoModelForCausalLM.from_config(made)
    sizes: dict[str, int] = {}
    for name, value in model.named_parameters():
        module = name.rpartition(".")[0]
        sizes[module] = sizes.get(module, 0) + value.numel()
    return sizes


def sizes_of(model) -> dict[str, int]:
    found: dict[str, int] = {}
    for module in model.modules:
        for name, _ in module.tensors[:1] if module.parameters else ():
            owner = f"{module.name}.{name}".rpartition(".")[0]
            found[owner] = found.get(owner, 0) + module.parameters
    return found


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_each_modules_parameters(name: str) -> None:
    config = {"model_type": name, **CONFIGS[name]}
    model = planned(config)
    theirs = real_sizes(config)
    assert sizes_of(model) == theirs
    assert model.total_parameters == sum(theirs.values()) and model.layers == 3
    if any(module.expert for module in model.modules):
        assert model.experts > 0 and model.experts_per_token > 0, "planned as dense"


def test_there_are_at_least_forty() -> None:
    assert len(CONFIGS) >= 40 and set(families.names()) <= set(CONFIGS)


@pytest.mark.parametrize("name", sorted(QUANTIZED))
def test_a_base_that_is_quantized_already_has_the_parameters_of_its_model(name: str) -> None:
    family, quantization = QUANTIZED[name]
    config = {"model_type": family, **CONFIGS[family], "quantization_config": quantization}
    assert sizes_of(planned(config)) == real_sizes(config)


def test_kimi_k2_is_deepseek_v3_with_separate_experts() -> None:
    """Its code lies beside the weights: the tensors of DeepSeek-V3, each expert three Linears."""
    config = {**LATENT, "model_type": "deepseek_v3"}
    kimi = families.describe({**config, "model_type": "kimi_k2"})
    assert kimi.total_parameters == sum(real_sizes(config).values()) and not kimi.fused_experts
