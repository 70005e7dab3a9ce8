"""Adapters as PEFT itself writes them, onto a tiny DeepSeek-V3: none is refused, each is read as PEFT reads it."""

from __future__ import annotations

import json

import pytest

from allranks import checkpoints

pytestmark = [pytest.mark.training, pytest.mark.filterwarnings("ignore")]

ATTENTION = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
KINDS = {
    "lora": {},
    "rslora": {"use_rslora": True},
    "dora": {"use_dora": True},
    "lora-bias": {"lora_bias": True},
    "patterns": {"rank_pattern": {"layers.1.self_attn.o_proj": 2}, "alpha_pattern": {"kv_b_proj": 32}},
    "saved-modules": {"modules_to_save": ["lm_head"]},
    "embedding": {"target_modules": [*ATTENTION, "embed_tokens"]},
    "pattern-of-targets": {"target_modules": r".*\.layers\.[12]\..*o_proj"},
    "chosen-layers": {"layers_to_transform": [0, 2]},
    "all-linear": {"target_modules": "all-linear"},
    "fused-experts": {"target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]},
    "fused-experts-alone": {"target_modules": [], "target_parameters": ["mlp.experts.down_proj"]},
    "tokens": {"trainable_token_indices": [1, 2, 3]},
}


def tiny_deepseek():
    import torch
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    torch.manual_seed(0)
    return DeepseekV3ForCausalLM(
        DeepseekV3Config(
            hidden_size=64, num_hidden_layers=3, n_routed_experts=8, n_group=2, topk_group=1, vocab_size=256,
            first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
            v_head_dim=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
            moe_intermediate_size=32, num_experts_per_tok=2,
        )
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_peft_writes_is_whole(kind, dtype, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model

    base = tiny_deepseek()
    shapes = {
        name: list(m.weight.shape) for name, m in base.named_modules() if isinstance(m, torch.nn.Linear)
    }
    keys = {"r": 4, "lora_alpha": 8, "target_modules": ATTENTION, "task_type": "CAUSAL_LM", **KINDS[kind]}
    model = get_peft_model(base, LoraConfig(**keys)).to(getattr(torch, dtype))
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter)
    model.save_pretrained(tmp_path)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)

    alone = checkpoints.verify(str(tmp_path), {"trained": True})
    config = json.loads(base.config.to_json_string())
    expect = {
        "base_config": config,
        "shapes": shapes,
        "rank": 4,
        "alpha": 8,
        "trained": True,
        "regular": True,
    }
    planned = checkpoints.verify(str(tmp_path), {**expect, "trainable_parameters": trainable})

    assert planned.whole, [(f.id, f.saw, f.expected) for f in planned.findings]
    assert alone.whole, [(f.id, f.saw, f.evidence) for f in alone.findings]
    assert alone.parameters >= trainable


def test_the_reader_sees_what_the_safetensors_library_sees(tmp_path):
    import torch
    from safetensors.torch import save_file

    from allranks.checkpoints.weights import read_header

    kinds = (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.uint8,
        torch.bool,
    )
    tensors = {str(d): torch.zeros(3, 5).to(d) for d in kinds}
    tensors.update(
        scalar=torch.tensor(1.0), fp8=torch.zeros(8).to(torch.float8_e4m3fn), empty=torch.zeros(0, 4)
    )
    path = tmp_path / "t.safetensors"
    save_file(tensors, path)

    with open(path, "rb") as file:
        seen = {t.name: t for t in read_header(file.fileno(), path.stat().st_size)}

    assert set(seen) == set(tensors)
    for name, tensor in tensors.items():
        assert seen[name].shape == tuple(tensor.shape)
        assert seen[name].end - seen[name].begin == tensor.numel() * tensor.element_size()


@pytest.mark.parametrize("kind", ["lora", "dora", "saved-modules", "all-linear", "fused-experts"])
def test_the_planner_and_peft_agree_on_every_tensor(kind, tmp_path):
    """What a run hands to `verify` as `shapes` comes from the planner, which has no torch."""
    from peft import LoraConfig, get_peft_model

    from allranks.plan import families, lora

    base = tiny_deepseek()
    keys = {"r": 4, "lora_alpha": 8, "target_modules": ATTENTION, "task_type": "CAUSAL_LM", **KINDS[kind]}
    get_peft_model(base, LoraConfig(**keys)).save_pretrained(tmp_path)
    targets = keys["target_modules"]
    asked = lora.Lora(
        rank=4,
        targets=targets if isinstance(targets, str) else tuple(targets),
        parameters=tuple(keys.get("target_parameters", ())),
        save=tuple(keys.get("modules_to_save", ())),
        dora=keys.get("use_dora", False),
    )
    trained = lora.trained_by_lora(families.describe(json.loads(base.config.to_json_string())), asked)
    shapes = {name: list(shape) for name, shape in trained.tensors}
    expect = {"shapes": shapes, "trainable_parameters": trained.parameters, "tensors": len(shapes)}

    report = checkpoints.verify(str(tmp_path), expect)
    assert report.whole, [(f.id, f.saw, f.expected) for f in report.findings]

    name = next(iter(shapes))
    foreign = {**expect, "shapes": {**shapes, name: [shapes[name][0], shapes[name][1] + 1]}}
    assert [f.id for f in checkpoints.verify(str(tmp_path), foreign).findings] == ["adapter-shape-wrong"]
