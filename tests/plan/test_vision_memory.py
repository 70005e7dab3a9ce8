"""What a vision tower keeps against what torch allocates, as LLaMA-Factory and PEFT set a model up, on CPU."""

from __future__ import annotations

import gc
import json
import os
from typing import Any

import pytest

from allranks.plan import make_plan, meta_device
from allranks.plan.memory import FITS
from allranks.plan.setting import setting_of
from allranks.plan.trainable import trained_by
from allranks.plan.vision_tower import COUNTED, Tower, tower_of
from tests.plan.test_activations_counted import a_counter
from tests.plan.test_vision_models import ROPE, TEXT, a_run

pytestmark = pytest.mark.training

VIT = {
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "image_size": 112,
    "patch_size": 14,
}
QWEN = {"hidden_size": 64, "num_heads": 4, "patch_size": 14, "intermediate_size": 160, "out_hidden_size": 64}
DEEP = {"deepstack_visual_indexes": [], "num_position_embeddings": 64}
SIGLIP, CLIP = {**VIT, "model_type": "siglip_vision_model"}, {**VIT, "model_type": "clip_vision_model"}
SMALL = {**TEXT, "num_hidden_layers": 1}
CONFIGS: dict[str, dict[str, Any]] = {
    "qwen2_vl": {
        "text_config": {**SMALL, **ROPE},
        "vision_config": {**QWEN, "embed_dim": 64, "mlp_ratio": 4},
    },
    "qwen2_5_vl": {"text_config": {**SMALL, **ROPE}, "vision_config": QWEN},
    "qwen3_vl": {"text_config": {**SMALL, **ROPE}, "vision_config": {**QWEN, **DEEP}},
    "qwen3_5": {"text_config": SMALL, "vision_config": {**QWEN, "num_position_embeddings": 64}},
    "llava": {
        "text_config": {**SMALL, "model_type": "llama"},
        "vision_config": CLIP,
        "vision_feature_layer": -1,
    },
    "gemma3": {
        "text_config": {**SMALL, "model_type": "gemma3_text"},
        "vision_config": SIGLIP,
        "mm_tokens_per_image": 16,
    },
    "paligemma": {
        "text_config": {**SMALL, "model_type": "gemma"},
        "vision_config": SIGLIP,
        "projection_dim": 64,
    },
}
SETTINGS: dict[str, dict[str, Any]] = {
    "frozen": {},
    "adapted": {"freeze_vision_tower": False},
    "adapted, not checkpointed": {"freeze_vision_tower": False, "disable_gradient_checkpointing": True},
    "frozen, full": {"finetuning_type": "full"},
}
DEPTH, PICTURES, PATCHES = 6, 2, 64
LEAST, MOST = -0.05, 0.45
FORWARD = 1.3
"""The most for a tower without a backward: it keeps nothing, and what one block needs is small."""


def the_config(name: str) -> dict[str, Any]:
    config = json.loads(json.dumps(CONFIGS[name]))
    config["vision_config"]["depth" if name.startswith("qwen") else "num_hidden_layers"] = DEPTH
    return {"model_type": name, **config}


def described(name: str) -> dict[str, Any]:
    return json.loads(json.dumps(meta_device.describe(the_config(name))))


def planned_bytes(name: str, arguments: dict[str, Any]) -> Tower:
    model = meta_device.model_of(described(name))
    assert model.images is not None
    tokens = round(PICTURES * PATCHES / model.images.patches_per_token)
    run = a_run(cutoff_len=tokens, **arguments)
    setting = setting_of(run)
    found = tower_of(model, trained_by(model, setting, run, []), setting, False)
    assert found is not None
    pixels = PICTURES * PATCHES * model.images.pixels * (4 + setting.weight_bytes)  # the test's own input
    return Tower(found.kept - pixels, found.added)


def counted_bytes(name: str, arguments: dict[str, Any]) -> tuple[int, int]:
    """(bytes that live when the images' features are made, the most at any time up to the end of their backward)."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers
    from llamafactory.hparams import FinetuningArguments, ModelArguments
    from llamafactory.model.adapter import init_adapter
    from llamafactory.model.model_utils.checkpointing import prepare_model_for_training

    config = the_config(name)
    made = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    made._attn_implementation = "sdpa"
    model = transformers.AutoModelForImageTextToText.from_config(made, dtype=torch.bfloat16)
    model_args = ModelArguments(model_name_or_path="none")
    model_args.compute_dtype, model_args.use_reentrant_gc = torch.bfloat16, False
    given = dict(arguments)
    model_args.disable_gradient_checkpointing = given.pop("disable_gradient_checkpointing", False)
    prepare_model_for_training(model, model_args)
    model = init_adapter(made, model, model_args, FinetuningArguments(**given), True).train()
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    inputs: dict[str, Any] = {"pixel_values": torch.randn(PICTURES, 3, 112, 112).bfloat16()}
    if name.startswith("qwen"):
        size = meta_device.describe({"model_type": name, **config})["images"]["vision"]["temporal_patch_size"]
        inputs = {
            "pixel_values": torch.randn(PICTURES * PATCHES, 3 * size * 14 * 14).bfloat16(),
            "image_grid_thw": torch.tensor([[1, 8, 8]] * PICTURES),
        }
    kept = [*model.parameters(), *model.buffers(), *inputs.values()]
    counter = a_counter({tensor.untyped_storage()._cdata for tensor in kept})
    with counter:
        found = base.get_image_features(**inputs).pooler_output
        features = found if isinstance(found, torch.Tensor) else torch.cat(list(found))
        gc.collect()
        live = counter.live
        if features.requires_grad:
            features.sum().backward()
    return live, counter.peak


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_tower(name: str) -> None:
    wrong = []
    for case, arguments in SETTINGS.items():
        live, peak = counted_bytes(name, arguments)
        ours = planned_bytes(name, arguments)
        most = MOST if live > 0.1 * peak or case.startswith("adapted") else FORWARD
        total = (ours.kept + ours.added) / peak - 1
        kept = (ours.kept - live) / peak
        if not LEAST <= total <= most or not LEAST <= kept <= most:
            wrong.append((case, round(total, 3), round(kept, 3), live, peak, ours))
    assert not wrong


def test_every_counted_family_was_compared() -> None:
    same = {"qwen3_vl_moe": "qwen3_vl", "qwen3_5_moe": "qwen3_5"}
    assert set(COUNTED) - set(CONFIGS) == set(same) and set(same.values()) <= set(CONFIGS)


def test_a_small_model_fits_with_all_its_images() -> None:
    plan = make_plan(a_run(cutoff_len=2048), the_config("qwen2_5_vl"), described=described("qwen2_5_vl"))
    assert plan.memory is not None and plan.memory["verdict"] == FITS
    assert not [f for f in plan.findings if f.stops_launch]


def test_images_that_may_not_fit_leave_the_verdict_open() -> None:
    run = a_run(cutoff_len=4_000_000, enable_liger_kernel=True)
    plan = make_plan(run, the_config("gemma3"), described=described("gemma3"))
    (finding,) = [f for f in plan.findings if f.stops_launch]
    assert plan.memory is not None and plan.memory["verdict"] is None
    assert finding.id == "vision-memory-unknown" and "without images" in finding.saw
