"""Vision-language models against transformers, LLaMA-Factory and PEFT: each module's parameters, and what trains."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from allranks.core import Cluster, Node
from allranks.plan import make_plan, meta_device
from allranks.plan.model import Model
from allranks.plan.setting import setting_of
from allranks.plan.trainable import trained_by
from allranks.plan.vision_parts import PARTS
from allranks.spec import Gpus, Run, Train

pytestmark = pytest.mark.training

TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "head_dim": 16,
}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 40}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}}
VIT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 28,
    "patch_size": 14,
}
QWEN = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 4, "patch_size": 14, "mlp_ratio": 2}
QWEN_LATER = {**QWEN, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 48}
CLIP, SIGLIP = {**VIT, "model_type": "clip_vision_model"}, {**VIT, "model_type": "siglip_vision_model"}
PIXTRAL = {**VIT, "model_type": "pixtral", "head_dim": 8}
LLAMA, QWEN2 = {**TEXT, "model_type": "llama"}, {**TEXT, "model_type": "qwen2"}
SAM = {
    **{"hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"image_size": 64, "patch_size": 16, "mlp_dim": 48, "global_attn_indexes": [1]},
}
PERSIMMON = {key: value for key, value in TEXT.items() if key not in ("num_key_value_heads", "head_dim")}
CONFIGS: dict[str, dict[str, Any]] = {
    "qwen2_vl": {"text_config": {**TEXT, **ROPE}, "vision_config": QWEN},
    "qwen2_5_vl": {"text_config": {**TEXT, **ROPE}, "vision_config": QWEN_LATER},
    "qwen3_vl": {
        "text_config": {**TEXT, **ROPE},
        "vision_config": {**QWEN_LATER, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 16},
    },
    "qwen3_vl_moe": {
        "text_config": {**TEXT, **ROPE, **EXPERTS},
        "vision_config": {**QWEN_LATER, "deepstack_visual_indexes": [0], "num_position_embeddings": 16},
    },
    "qwen3_5": {"text_config": TEXT, "vision_config": {**QWEN_LATER, "num_position_embeddings": 16}},
    "glm4v": {"text_config": {**TEXT, **ROPE}, "vision_config": {**QWEN_LATER, "num_hidden_layers": 2}},
    "llava": {"text_config": LLAMA, "vision_config": CLIP},
    "llava_next": {"text_config": {**TEXT, "model_type": "mistral"}, "vision_config": CLIP},
    "llava_onevision": {"text_config": QWEN2, "vision_config": SIGLIP},
    "internvl": {"text_config": QWEN2, "vision_config": {**VIT, "model_type": "internvl_vision"}},
    "gemma3": {
        "text_config": {**TEXT, "model_type": "gemma3_text"},
        "vision_config": SIGLIP,
        "mm_tokens_per_image": 4,
    },
    "llama4": {
        "text_config": {**TEXT, **EXPERTS, "intermediate_size_mlp": 96, "model_type": "llama4_text"},
        "vision_config": {
            **VIT,
            "vision_output_dim": 32,
            "projector_input_dim": 32,
            "projector_output_dim": 32,
        },
    },
    "mllama": {
        "text_config": {**TEXT, "cross_attention_layers": [1]},
        "vision_config": {
            **{key: value for key, value in VIT.items() if not key.startswith("num_")},
            **{"num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 4, "max_num_tiles": 4},
            **{"vision_output_dim": 64, "intermediate_layers_indices": [0]},
        },
    },
    "idefics3": {"text_config": LLAMA, "vision_config": VIT, "scale_factor": 2, "pad_token_id": 0},
    "smolvlm": {"text_config": LLAMA, "vision_config": VIT, "scale_factor": 2, "pad_token_id": 0},
    "mistral3": {"text_config": {**TEXT, "model_type": "mistral"}, "vision_config": PIXTRAL},
    "paligemma": {
        "text_config": {**TEXT, "model_type": "gemma"},
        "vision_config": SIGLIP,
        "projection_dim": 64,
    },
    "aya_vision": {"text_config": {**TEXT, "model_type": "cohere2"}, "vision_config": SIGLIP},
    "cohere2_vision": {"text_config": {**TEXT, "model_type": "cohere2"}, "vision_config": SIGLIP},
    "glm_ocr": {"text_config": {**TEXT, **ROPE}, "vision_config": {**QWEN_LATER, "num_hidden_layers": 2}},
    "glm46v": {
        "text_config": {**TEXT, **ROPE, "model_type": "glm4v_text"},
        "vision_config": {**QWEN_LATER, "num_hidden_layers": 2, "model_type": "glm4v_vision"},
    },
    "glm4v_moe": {
        "text_config": {
            **{**TEXT, **ROPE, **EXPERTS},
            **{"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1},
        },
        "vision_config": {**QWEN_LATER, "num_hidden_layers": 2},
    },
    "qwen3_5_moe": {
        "text_config": {**TEXT, **EXPERTS, "shared_expert_intermediate_size": 40},
        "vision_config": {**QWEN_LATER, "num_position_embeddings": 16},
    },
    "llava_next_video": {"text_config": LLAMA, "vision_config": CLIP},
    "video_llava": {"text_config": LLAMA, "vision_config": CLIP},
    "vipllava": {"text_config": LLAMA, "vision_config": CLIP, "vision_feature_layers": [-1, 0]},
    "video_llama_3": {"text_config": QWEN2, "vision_config": VIT},
    "deepseek_vl": {"text_config": LLAMA, "vision_config": SIGLIP},
    "got_ocr2": {
        "text_config": QWEN2,
        "vision_config": SAM,
    },
    "lfm2_vl": {
        "text_config": {**TEXT, "model_type": "lfm2", "layer_types": ["conv", "full_attention", "conv"]},
        "vision_config": {**VIT, "model_type": "siglip2_vision_model", "num_patches": 16},
        "downsample_factor": 2,
    },
    "ovis2": {
        "text_config": QWEN2,
        "vision_config": {**VIT, "vocab_size": 40, "num_visual_indicator_tokens": 5},
        "vocab_size": 320,
    },
    "aria": {
        "text_config": {
            **{**TEXT, "model_type": "aria_text"},
            **{"moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1},
        },
        "vision_config": {**VIT, "model_type": "idefics3_vision"},
        "projector_patch_to_query_dict": {4: 2},
    },
    "fuyu": {**PERSIMMON, "patch_size": 4, "text_config": {"model_type": "persimmon", **PERSIMMON}},
    "gemma4": {"text_config": {**TEXT, "model_type": "gemma4_text"}, "vision_config": VIT},
    "paddleocr_vl": {"text_config": {**TEXT, **ROPE}, "vision_config": VIT},
    "idefics2": {
        "text_config": {**TEXT, "model_type": "mistral"},
        "vision_config": VIT,
        "perceiver_config": {
            **{"resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 4},
            **{"resampler_head_dim": 16, "num_key_value_heads": 2},
        },
    },
    "janus": {
        "text_config": LLAMA,
        "vision_config": {**VIT, "projection_dim": 64},
        "vq_config": {
            **{"embed_dim": 8, "num_embeddings": 16, "base_channels": 32, "channel_multiplier": [1, 1]},
            **{"num_res_blocks": 1, "projection_dim": 64, "num_hidden_layers": 2},
            **{"image_token_embed_dim": 64},
        },
    },
    "deepseek_vl_hybrid": {
        "text_config": LLAMA,
        "vision_config": SIGLIP,
        "high_res_vision_config": {"model_type": "sam_vision_model", **SAM},
    },
    "qianfan_ocr": {"text_config": {**TEXT, "model_type": "qwen3"}, "vision_config": VIT},
    "lighton_ocr": {"text_config": {**TEXT, "model_type": "qwen3"}, "vision_config": PIXTRAL},
}
CASES: dict[str, dict[str, Any]] = {
    "all": {},
    "names": {"lora_target": "q_proj,v_proj"},
    "the tower too": {"freeze_vision_tower": False},
    "the projector too": {"freeze_multi_modal_projector": False},
    "the tower alone": {"freeze_vision_tower": False, "freeze_language_model": True},
    "dora": {"use_dora": True, "freeze_vision_tower": False},
    "full": {"finetuning_type": "full"},
    "full, all": {
        "finetuning_type": "full",
        "freeze_vision_tower": False,
        "freeze_multi_modal_projector": False,
    },
    "full, the projector alone": {
        "finetuning_type": "full",
        "freeze_multi_modal_projector": False,
        "freeze_language_model": True,
    },
    "freeze": {"finetuning_type": "freeze"},
    "freeze, all": {
        "finetuning_type": "freeze",
        "freeze_vision_tower": False,
        "freeze_multi_modal_projector": False,
    },
}


def a_run(**arguments: Any) -> Run:
    train = Train("llamafactory", {"bf16": True, "per_device_train_batch_size": 1, **arguments})
    return Run("x", Cluster((Node("a", "10.0.0.1", 0, 8),)), train, gpus=Gpus(8, "A100-SXM4-80GB"))


def a_config(name: str) -> dict[str, Any]:
    return {"model_type": name, **CONFIGS[name]}


def planned(name: str) -> Model:
    return meta_device.model_of(json.loads(json.dumps(meta_device.describe(a_config(name)))))


def real_model(name: str):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    with torch.device("meta"):
        made = transformers.AutoConfig.for_model(name, **CONFIGS[name])
        return transformers.AutoModelForImageTextToText.from_config(made)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_every_tensor(name: str) -> None:
    model, real = planned(name), real_model(name)
    ours = {f"{m.name}.{n}": shape for m in model.modules if not m.shared for n, shape in m.tensors}
    theirs = {key.removeprefix("."): tuple(value.shape) for key, value in real.named_parameters()}
    assert ours == theirs
    assert model.total_parameters == sum(value.numel() for value in real.parameters())
    assert model.layers == 3 and all(model.by_layer)
    text = sum(p.numel() for n, p in real.named_parameters() if n.startswith(model.decoder + "."))
    head = 0 if model.tied or model.head.startswith(model.decoder + ".") else model.head_parameters
    assert model.vision_parameters == model.total_parameters - text - head > 0


def test_the_parts_are_those_of_llamafactory() -> None:
    from llamafactory.model.model_utils.visual import COMPOSITE_MODELS

    assert set(PARTS) == set(COMPOSITE_MODELS)
    for name, theirs in COMPOSITE_MODELS.items():
        ours = PARTS[name]
        assert list(ours.projector) == theirs.projector_keys, name
        assert set(ours.vision) == set(theirs.vision_model_keys), name
        assert list(ours.language) == theirs.language_model_keys, name
        assert list(ours.never_adapted) == theirs.lora_conflict_keys, name


def trained_by_llamafactory(name: str, arguments: dict[str, Any]) -> int:
    import torch
    from llamafactory.hparams import FinetuningArguments, ModelArguments
    from llamafactory.model.adapter import init_adapter

    real = real_model(name)
    model_args = ModelArguments(model_name_or_path="none")
    model_args.compute_dtype = torch.bfloat16
    with torch.device("meta"):
        adapted = init_adapter(real.config, real, model_args, FinetuningArguments(**arguments), True)
    return sum(p.numel() for p in adapted.parameters() if p.requires_grad)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_what_trains(name: str) -> None:
    model = planned(name)
    for case, arguments in CASES.items():
        run = a_run(**arguments)
        findings: list[Any] = []
        trained = trained_by(model, setting_of(run), run, findings)
        try:
            theirs = trained_by_llamafactory(name, arguments)
        except ValueError as error:
            assert findings and findings[0].stops_launch, (case, error)
            continue
        assert trained is not None and trained.parameters == theirs, case
        assert not findings or not theirs, (case, findings)


def test_a_tower_that_is_not_counted_leaves_the_verdict_open() -> None:
    answer = json.loads(json.dumps(meta_device.describe(a_config("llava_next"))))
    plan = make_plan(a_run(), a_config("llava_next"), described=answer)
    assert plan.memory is not None and plan.memory["verdict"] is None and plan.traffic is not None
    assert [f.id for f in plan.findings if f.stops_launch] == ["vision-memory-unknown"]
