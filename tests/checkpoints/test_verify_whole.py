"""Nothing whole is refused, in any of the forms that PEFT and trainers write."""

from __future__ import annotations

import os

import pytest

from allranks import checkpoints
from tests.checkpoints.conftest import Checkpoint

WHOLE = []


def whole(function):
    WHOLE.append(pytest.param(function, id=function.__name__))
    return function


def zero_out(c, chosen) -> None:
    for name, (_, shape, data) in list(c.tensors.items()):
        if ".lora_B." in name and chosen(name):
            c.put(name, shape, bytes(len(data)))


@whole
def with_a_manifest(c):
    return c.write()


@whole
def as_transformers_writes_it(c):
    return c.write(manifest=False)


@whole
def with_the_plan_of_the_run(c):
    c.write()
    return {
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 64},
        "regular": True,
        "base_model": "/mnt/elsewhere/tiny-deepseek-v3/",
        "rank": 4,
        "alpha": 8,
        "targets": c.config["target_modules"],
        "trainable_parameters": c.parameters,
        "tensors": 30,
        "trained": True,
        "step": 20,
        "shapes": {
            **{f"model.layers.{n}.self_attn.o_proj": [64, 64] for n in range(3)},
            "model.layers.0.mlp.gate_proj": [160, 64],
            "self_attn.q_a_proj": [32, 64],
        },
    }


@whole
def with_every_tensor_planned(c):
    c.write()
    prefix = "base_model.model."
    return {"shapes": {name[len(prefix) :]: list(shape) for name, (_, shape, _) in c.tensors.items()}}


@whole
def in_float32(c):
    c.__init__(c.path, dtype="F32")
    return c.write()


@whole
def in_float16(c):
    c.__init__(c.path, dtype="F16")
    return c.write()


@whole
def in_float64(c):
    c.__init__(c.path, dtype="F64")
    return c.write()


@whole
def the_first_step_with_lora_b_still_zero(c):
    zero_out(c, lambda name: True)
    return c.write()


@whole
def experts_that_no_token_reached(c):
    for expert in range(4):
        c.add(f"model.layers.1.mlp.experts.{expert}.down_proj", (64, 16))
    c.config["target_modules"].append("down_proj")
    zero_out(c, lambda name: "experts.2." in name)
    c.write()
    return {"trained": True}


@whole
def an_image_tower_that_saw_no_image(c):
    for block in range(2):
        c.add(f"visual.blocks.{block}.attn.o_proj", (48, 48))
    zero_out(c, lambda name: "visual" in name)
    c.write()
    return {"trained": True}


@whole
def dora(c):
    c.config["use_dora"] = True
    for name, (_, shape, _) in list(c.tensors.items()):
        if name.endswith(".lora_B.weight"):
            c.put(name.replace(".lora_B.weight", ".lora_magnitude_vector"), shape[:1])
    c.write()
    return {"trainable_parameters": c.parameters, "tensors": 45}


@whole
def rank_and_alpha_patterns(c):
    c.config["rank_pattern"] = {"model.layers.1.self_attn.o_proj": 8, "^model.layers.2.self_attn.o_proj": 2}
    c.config["alpha_pattern"] = {"o_proj": 16}
    c.add("model.layers.1.self_attn.o_proj", (64, 64), rank=8)
    c.add("model.layers.2.self_attn.o_proj", (64, 64), rank=2)
    return c.write()


@whole
def modules_to_save(c):
    c.config["modules_to_save"] = ["lm_head", "embed_tokens"]
    c.put("base_model.model.lm_head.weight", (128, 64))
    c.put("base_model.model.model.embed_tokens.weight", (128, 64))
    c.write()
    return {"trainable_parameters": c.parameters}


@whole
def embeddings_that_peft_added(c):
    before = c.parameters
    c.put("base_model.model.lm_head.weight", (130, 64))
    c.put("base_model.model.model.embed_tokens.weight", (130, 64))
    c.write()
    return {"trainable_parameters": before, "tensors": 30}


@whole
def a_classifier_whose_model_has_one_of_both_names(c):
    c.config.update(task_type="SEQ_CLS", modules_to_save=["classifier", "score"])
    c.put("base_model.model.score.weight", (2, 64))
    return c.write()


@whole
def lora_on_the_embedding(c):
    c.config["target_modules"].append("embed_tokens")
    c.put("base_model.model.model.embed_tokens.lora_embedding_A", (4, 128))
    c.put("base_model.model.model.embed_tokens.lora_embedding_B", (64, 4))
    c.put("base_model.model.model.embed_tokens.base_layer.weight", (128, 64))
    c.write()
    return {"shapes": {"embed_tokens": [128, 64]}}


@whole
def fused_experts(c):
    c.config["target_parameters"] = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    for layer in (1, 2):
        c.add(f"model.layers.{layer}.mlp.experts", (64, 16), rank=4 * 8)
        c.add(f"model.layers.{layer}.mlp.experts.base_layer", (32, 64), rank=4 * 8)
    return c.write()


@whole
def dense_layers_before_the_experts(c):
    c.config["target_modules"] += ["gate_proj", "down_proj"]
    c.add("model.layers.0.mlp.gate_proj", (160, 64))
    c.add("model.layers.0.mlp.down_proj", (64, 160))
    for layer in (1, 2):
        c.add(f"model.layers.{layer}.mlp.shared_experts.gate_proj", (32, 64))
        c.add(f"model.layers.{layer}.mlp.shared_experts.down_proj", (64, 32))
    c.write()
    return {
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 64},
        "regular": True,
    }


@whole
def attention_in_every_fourth_layer(c):
    c.tensors.clear()
    c.config["target_modules"] = ["q_proj"]
    for layer in range(3, 16, 4):
        c.add(f"model.layers.{layer}.self_attn.q_proj", (64, 64))
    c.write(manifest=False)
    return {}


@whole
def chosen_layers(c):
    c.config["layers_to_transform"] = [0, 2, 3]
    c.tensors = {n: e for n, e in c.tensors.items() if ".layers.1." not in n}
    for name in ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"):
        first = c.tensors[f"base_model.model.model.layers.0.self_attn.{name}.lora_B.weight"][1][0]
        second = c.tensors[f"base_model.model.model.layers.0.self_attn.{name}.lora_A.weight"][1][1]
        c.add(f"model.layers.3.self_attn.{name}", (first, second))
    c.write()
    return {
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 4, "hidden_size": 64},
        "regular": True,
    }


@whole
def a_pattern_that_picks_layers(c):
    """A layer that it passes over is no loss, and neither is one in a name of a target."""
    c.config["target_modules"] = r".*layers\.(?:0|2)\..*(?:_proj|proj_with_mqa)"
    c.tensors = {n: e for n, e in c.tensors.items() if ".layers.1." not in n}
    c.write()
    return {
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 64},
        "regular": True,
    }


@whole
def targets_that_name_their_layers(c):
    c.tensors = {n: e for n, e in c.tensors.items() if ".layers.1." not in n}
    c.config["target_modules"] = sorted({n.split(".model.", 1)[1].rpartition(".lora")[0] for n in c.tensors})
    c.write()
    return {
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 64},
        "regular": True,
    }


@whole
def a_pattern_of_targets(c):
    c.config["target_modules"] = r"^(?!.*visual).*(?:_proj|proj_with_mqa)$"
    return c.write()


@whole
def bias_and_lora_bias(c):
    c.config.update(bias="lora_only", lora_bias=True)
    c.put("base_model.model.model.layers.0.self_attn.o_proj.bias", (64,))
    c.put("base_model.model.model.layers.0.self_attn.o_proj.lora_B.bias", (64,))
    return c.write()


@whole
def trained_tokens(c):
    c.config["trainable_token_indices"] = [1, 2]
    c.put("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta", (2, 64))
    c.write()
    return {"trainable_parameters": c.parameters}


@whole
def the_final_adapter_with_its_tokenizer(c):
    c.path = c.path.parent
    c.write(manifest=False)
    for name in ("tokenizer.json", "README.md", "training_args.bin", "all_results.json", "train.tmp"):
        (c.path / name).write_text("{}")


@whole
def a_plain_loop_without_a_trainer(c):
    c.state = None
    return c.write(manifest=False)


@whole
def beside_full_shards(c):
    c.write(manifest=False)
    (c.path / "global_step20").mkdir()
    (c.path / "latest").write_text("global_step20")


@whole
def a_leftover_of_an_earlier_save(c):
    c.write()
    (c.path / "adapter_model.safetensors.tmp").write_bytes(b"half")


@whole
def a_link_within_the_folder(c):
    c.write()
    c.weights.rename(c.path / "blob")
    c.weights.symlink_to("blob")


@whole
def named_through_a_link(c):
    c.write()
    os.rename(c.path, c.path.parent / "moved")
    c.path.symlink_to("moved")


@pytest.mark.parametrize("write", WHOLE)
def test_nothing_whole_is_refused(write, checkpoint):
    expect = write(checkpoint)

    report = checkpoints.verify(str(checkpoint.path), expect if isinstance(expect, dict) else None)

    assert report.whole, [(f.id, f.saw) for f in report.findings]
    assert report.exit_code == 0
    assert report.findings[0].id == "adapter-whole"
    assert (report.tensors, report.parameters) == (len(checkpoint.tensors), checkpoint.parameters)


def test_what_is_odd_but_whole_is_said(checkpoint):
    experts_that_no_token_reached(checkpoint)
    ids = [f.id for f in checkpoints.verify(str(checkpoint.path), {"trained": True}).findings]
    assert ids == ["adapter-whole", "adapter-partly-untrained"]

    a_leftover_of_an_earlier_save(checkpoint)
    ids = [f.id for f in checkpoints.verify(str(checkpoint.path)).findings]
    assert ids == ["adapter-whole", "checkpoint-leftover"]

    (checkpoint.path / "adapter_model.safetensors.tmp").unlink()
    (checkpoint.path / "allranks.json").unlink()
    (checkpoint.path / "trainer_state.json").unlink()
    ids = [f.id for f in checkpoints.verify(str(checkpoint.path)).findings]
    assert ids == ["adapter-whole", "checkpoint-unmarked"]


def test_a_target_that_the_base_never_had_is_no_damage(checkpoint, shapes):
    """PEFT's LoRA on q_proj and o_proj of a DeepSeek-V3 trains o_proj alone and says nothing."""
    checkpoint.config["target_modules"] = [*checkpoint.config["target_modules"], "q_proj"]
    checkpoint.write()

    ids = [f.id for f in checkpoints.verify(str(checkpoint.path), {"shapes": shapes}).findings]
    assert ids == ["adapter-whole", "adapter-target-nowhere"]
    assert not checkpoints.verify(str(checkpoint.path)).whole


def test_the_step_and_the_counts_are_reported(checkpoint):
    checkpoint.write()

    report = checkpoints.verify(str(checkpoint.weights))

    assert (report.step, report.tensors, report.parameters) == (20, 30, checkpoint.parameters)
    assert report.path == str(checkpoint.path)
    assert report.as_json()["findings"][0]["id"] == "adapter-whole"


@pytest.mark.parametrize(("cut", "whole"), [(False, True), (True, False)])
def test_an_adapter_beside_the_default_one_is_judged_with_it(run_folder, make, cut, whole):
    top = make(20, manifest=True)
    critic = Checkpoint(top.path / "critic", step=20)
    critic.state = None
    critic.write()
    if cut:
        critic.weights.write_bytes(critic.weights.read_bytes()[:-1])
    report = checkpoints.verify(str(top.path))
    assert report.whole is whole
    assert whole or any("critic" in finding.where.file for finding in report.findings)
    critic.manifest_step = 10  # of an earlier save, which somebody keeps there
    critic.seal()
    assert checkpoints.verify(str(top.path)).whole
