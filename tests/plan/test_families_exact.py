"""Every family against transformers and PEFT on the meta device: each tensor's name and shape, and what trains."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Cluster, Node
from allranks.plan import families
from allranks.plan.lora import ALL_LINEAR, Lora, linear_names, trained_by_lora
from allranks.plan.setting import setting_of
from allranks.plan.trainable import trained_by
from allranks.spec import Run, Train

pytestmark = pytest.mark.training

RECORD = Path(__file__).parent / "data" / "defaults.json"

BASE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
MOE = {"moe_intermediate_size": 40, "num_experts_per_tok": 2}
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 20,
    "n_routed_experts": 4,
    "n_group": 2,
    "topk_group": 1,
}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "llama": [{}, {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, {"head_dim": 24}],
    "mistral": [{}, {"head_dim": 24, "tie_word_embeddings": True}],
    "mixtral": [
        {"num_local_experts": 4},
        {"num_local_experts": 4, "head_dim": 24, "tie_word_embeddings": True},
    ],
    "qwen2": [{}, {"tie_word_embeddings": True}],
    "qwen2_moe": [
        {**MOE, "num_experts": 4, "shared_expert_intermediate_size": 48},
        {**MOE, "num_experts": 4, "decoder_sparse_step": 2, "mlp_only_layers": [3], "qkv_bias": False},
    ],
    "qwen3": [{"head_dim": 24}, {"attention_bias": True, "tie_word_embeddings": True}],
    "qwen3_moe": [
        {**MOE, "num_experts": 4, "head_dim": 24},
        {**MOE, "num_experts": 4, "decoder_sparse_step": 2, "mlp_only_layers": [1], "attention_bias": True},
    ],
    "gemma2": [{"head_dim": 24}, {"head_dim": 16, "tie_word_embeddings": False, "attention_bias": True}],
    "gemma3_text": [{"head_dim": 24}, {"head_dim": 16, "tie_word_embeddings": False, "attention_bias": True}],
    "phi3": [{}, {"num_key_value_heads": 4, "tie_word_embeddings": True}],
    "deepseek_v2": [
        {**LATENT, **MOE, "first_k_dense_replace": 1, "n_shared_experts": 2},
        {
            **LATENT,
            **MOE,
            "q_lora_rank": None,
            "first_k_dense_replace": 2,
            "n_shared_experts": 1,
            "mlp_bias": True,
        },
        {**LATENT, **MOE, "attention_bias": True, "tie_word_embeddings": True},
    ],
    "deepseek_v3": [
        {**LATENT, **MOE, "first_k_dense_replace": 1, "n_shared_experts": 2},
        {**LATENT, **MOE, "q_lora_rank": None, "first_k_dense_replace": 3},
        {**LATENT, **MOE, "attention_bias": True, "tie_word_embeddings": True, "first_k_dense_replace": 0},
    ],
    "glm4": [{"head_dim": 24}, {"head_dim": 16, "attention_bias": False, "tie_word_embeddings": True}],
    "glm4_moe": [
        {**MOE, "n_routed_experts": 4, "head_dim": 16},
        {
            **MOE,
            "n_routed_experts": 4,
            "head_dim": 16,
            "use_qk_norm": True,
            "attention_bias": True,
            "n_shared_experts": 2,
        },
    ],
    "glm4_moe_lite": [
        {**LATENT, **MOE},
        {
            **LATENT,
            **MOE,
            "q_lora_rank": None,
            "n_shared_experts": 2,
            "mlp_layer_types": ["sparse", "dense", "sparse", "dense"],
        },
        {**LATENT, **MOE, "attention_bias": True, "tie_word_embeddings": True},
    ],
    "gpt_oss": [
        {"num_local_experts": 4, "head_dim": 24},
        {"num_local_experts": 4, "head_dim": 16, "attention_bias": False, "tie_word_embeddings": True},
    ],
}
CASES = [(name, index) for name, variants in VARIANTS.items() for index in range(len(variants))]


def the_config(name: str, index: int) -> dict[str, Any]:
    return {**BASE, **VARIANTS[name][index], "model_type": name}


@pytest.fixture(scope="module")
def libraries():
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import peft
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    return torch, transformers, peft


def real_model(libraries, config: dict[str, Any]):
    torch, transformers, _ = libraries
    values = {key: value for key, value in config.items() if key != "model_type"}
    with torch.device("meta"):
        made = transformers.AutoConfig.for_model(config["model_type"], **values)
        return transformers.AutoModelForCausalLM.from_config(made)


def tensors(model) -> dict[str, tuple[int, ...]]:
    return {f"{m.name}.{name}": shape for m in model.modules if not m.shared for name, shape in m.tensors}


@pytest.mark.parametrize(("name", "index"), CASES)
def test_every_tensor_of_the_model(libraries, name: str, index: int) -> None:
    config = the_config(name, index)
    model = families.describe(config)
    ours = tensors(model)
    theirs = {key: tuple(value.shape) for key, value in real_model(libraries, config).named_parameters()}
    assert ours == theirs
    assert model.total_parameters == sum(prod(shape) for shape in theirs.values())


def test_every_family_described_is_proved() -> None:
    proved = {families.find(name).__name__.rpartition(".")[2] for name in VARIANTS}
    assert proved == set(families.names()) and len(proved) >= 15


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_the_familys_defaults(libraries, name: str) -> None:
    """A config.json that leaves a key out means the class's default."""
    small = {"num_hidden_layers": 4, "model_type": name}
    model = families.describe(small)
    theirs = {key: tuple(value.shape) for key, value in real_model(libraries, small).named_parameters()}
    assert tensors(model) == theirs


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_the_recorded_defaults_are_those_of_transformers(libraries, name: str) -> None:
    """`data/defaults.json` is what the fast tests compare families with. `ALLRANKS_GOLDEN=write` writes it again."""
    theirs = recorded(libraries[1].AutoConfig.for_model(name), families.find(name).DEFAULTS)
    known = json.loads(RECORD.read_text())
    if os.environ.get("ALLRANKS_GOLDEN") == "write" and known.get(name) != theirs:
        known[name] = theirs
        RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert known.get(name) == theirs, "ALLRANKS_GOLDEN=write records what transformers takes"


def recorded(config: Any, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(config, key) for key in keys if hasattr(config, key)}


def attention_names(model) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(m.leaf for m in model.modules if m.kind == "linear" and ".self_attn." in m.name)
    )


def loras(model) -> dict[str, tuple[Lora, dict[str, Any]]]:
    """Name → (ours, the keywords for PEFT)."""
    names = attention_names(model)
    inner = r"model\.layers\.[13]\.self_attn\..*proj.*"
    suffix = tuple(f"self_attn.{name}" for name in names[:2])
    cases = {
        "names": (Lora(rank=8, targets=names), {"target_modules": list(names)}),
        "suffixes": (Lora(rank=4, targets=suffix), {"target_modules": list(suffix)}),
        "expression": (Lora(rank=4, targets=inner), {"target_modules": inner}),
        "all-linear": (Lora(rank=3, targets=ALL_LINEAR), {"target_modules": "all-linear"}),
        "dora": (Lora(rank=4, targets=names, dora=True), {"target_modules": list(names), "use_dora": True}),
        "rslora": (
            Lora(rank=4, targets=names, rslora=True),
            {"target_modules": list(names), "use_rslora": True},
        ),
        "saved": (
            Lora(rank=4, targets=names, save=("embed_tokens", "lm_head")),
            {"target_modules": list(names), "modules_to_save": ["embed_tokens", "lm_head"]},
        ),
        "saved norms": (
            Lora(rank=4, targets=names, save=("norm",)),
            {"target_modules": list(names), "modules_to_save": ["norm"]},
        ),
        "embedding": (
            Lora(rank=4, targets=("embed_tokens", "lm_head", *names)),
            {"target_modules": ["embed_tokens", "lm_head", *names]},
        ),
        "dora embedding": (
            Lora(rank=4, targets=("embed_tokens",), dora=True),
            {"target_modules": ["embed_tokens"], "use_dora": True},
        ),
        "excluded": (
            Lora(rank=4, targets=names, exclude=(names[0],)),
            {"target_modules": list(names), "exclude_modules": [names[0]]},
        ),
    }
    if any(m.kind == "experts" for m in model.modules):
        parameters = ("mlp.experts.gate_up_proj", "experts.down_proj")
        cases["experts"] = (
            Lora(rank=2, targets=names, parameters=parameters),
            {"target_modules": list(names), "target_parameters": list(parameters)},
        )
    return cases


def peft_trains(libraries, config: dict[str, Any], keywords: dict[str, Any], rank: int) -> int:
    torch, _, peft = libraries
    wanted = peft.LoraConfig(task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank, **keywords)
    with torch.device("meta"):
        model = peft.get_peft_model(real_model(libraries, config), wanted)
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize(("name", "index"), CASES)
def test_what_trains(libraries, name: str, index: int) -> None:
    config = the_config(name, index)
    model = families.describe(config)
    for case, (lora, keywords) in loras(model).items():
        ours = trained_by_lora(model, lora)
        assert ours.parameters == peft_trains(libraries, config, keywords, lora.rank), case


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_all_as_llamafactory_means_it(libraries, name: str) -> None:
    """`all`: last names of every Linear but the head, handed to PEFT as a list."""
    config = the_config(name, 0)
    real = real_model(libraries, config)
    names = {
        key.split(".")[-1]
        for key, module in real.named_modules()
        if "lm_head" not in key
        and "Linear" in type(module).__name__
        and "Embedding" not in type(module).__name__
    }
    model = families.describe(config)
    ours = trained_by_lora(model, Lora(rank=8, targets="all"))
    assert set(linear_names(model)) == names
    assert ours.parameters == peft_trains(libraries, config, {"target_modules": sorted(names)}, 8)


def test_what_peft_refuses_is_reported(libraries) -> None:
    config = the_config("deepseek_v3", 0)
    model = families.describe(config)
    for target in ("mlp", "gate", "norm"):
        assert trained_by_lora(model, Lora(rank=4, targets=(target,))).unsupported, target
        with pytest.raises(ValueError, match="is not supported"):
            peft_trains(libraries, config, {"target_modules": [target]}, 4)
    assert trained_by_lora(model, Lora(rank=4, targets=("q_proj",))).parameters == 0
    with pytest.raises(ValueError, match="not found"):
        peft_trains(libraries, config, {"target_modules": ["q_proj"]}, 4)


FREEZES = [
    {},
    {"freeze_trainable_layers": 1, "freeze_trainable_modules": "self_attn"},
    {"freeze_trainable_layers": -2, "freeze_trainable_modules": "mlp,input_layernorm"},
    {"freeze_trainable_layers": 3, "freeze_extra_modules": "embed_tokens,norm"},
]


@pytest.mark.parametrize("name", ["llama", "gemma2", "phi3", "deepseek_v3", "gpt_oss"])
@pytest.mark.parametrize("arguments", FREEZES, ids=lambda arguments: str(len(arguments)))
def test_freeze_and_full_as_llamafactory_does_them(libraries, name: str, arguments: dict) -> None:
    from types import SimpleNamespace

    from llamafactory.model.adapter import _setup_freeze_tuning, _setup_full_tuning

    config = the_config(name, 0)
    defaults = {"freeze_trainable_layers": 2, "freeze_trainable_modules": "all", "freeze_extra_modules": None}
    given = {**defaults, **arguments}
    lists = {key: value.split(",") if isinstance(value, str) else value for key, value in given.items()}
    wanted = SimpleNamespace(
        **lists,
        use_llama_pro=False,
        freeze_multi_modal_projector=True,
        freeze_vision_tower=True,
        freeze_language_model=False,
    )
    for method, setup in (("freeze", _setup_freeze_tuning), ("full", _setup_full_tuning)):
        real = real_model(libraries, config)
        setup(real, wanted, True, False)
        run = a_run({"finetuning_type": method, **arguments})
        findings: list = []
        ours = trained_by(families.describe(config), setting_of(run), run, findings)
        assert not findings and ours is not None
        assert ours.parameters == sum(p.numel() for p in real.parameters() if p.requires_grad), method


def test_freezing_what_does_not_exist_is_refused_as_llamafactory_does() -> None:
    run = a_run({"finetuning_type": "freeze", "freeze_trainable_modules": "attention"})
    findings: list = []
    assert trained_by(families.describe(the_config("llama", 0)), setting_of(run), run, findings) is None
    assert [finding.id for finding in findings] == ["freeze-modules-missing"]


def a_run(arguments: dict) -> Run:
    return Run("x", Cluster((Node("a", "10.0.0.1", 0, 1),)), Train("llamafactory", arguments))
