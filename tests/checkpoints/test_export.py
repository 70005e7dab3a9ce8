"""Adapters of every kind, merged into a tiny DeepSeek-V3 on disk or converted for vLLM, against PEFT's own word."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.checkpoints import merging
from allranks.checkpoints.export import EXPORT, export

pytestmark = [pytest.mark.training, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]

ATTENTION = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
KINDS = {
    "lora": {},
    "rslora": {"use_rslora": True},
    "dora": {"use_dora": True},
    "patterns": {"rank_pattern": {"layers.1.self_attn.o_proj": 2}, "alpha_pattern": {"kv_b_proj": 32}},
    "saved-modules": {"modules_to_save": ["lm_head"]},
    "embedding": {"target_modules": [*ATTENTION, "embed_tokens"]},
    "embedding-dora": {"target_modules": ["o_proj", "embed_tokens"], "use_dora": True},
    "all-linear": {"target_modules": "all-linear"},
    "fused-experts": {"target_parameters": EXPERTS},
}


def model_of(tied: bool = False):
    import torch
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    torch.manual_seed(0)
    return DeepseekV3ForCausalLM(
        DeepseekV3Config(
            hidden_size=64, num_hidden_layers=2, n_routed_experts=4, n_group=2, topk_group=1, vocab_size=256,
            first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
            v_head_dim=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=96,
            moe_intermediate_size=32, num_experts_per_tok=2, tie_word_embeddings=tied,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> dict[str, Path]:
    """One in several files and bfloat16, one in one file and float32, one whose output layer is its embedding."""
    import torch

    root = tmp_path_factory.mktemp("bases")
    for name, dtype, tied in (("bfloat16", torch.bfloat16, False), ("float32", torch.float32, False),
                              ("tied", torch.float32, True)):  # fmt: skip
        size = "60KB" if name == "bfloat16" else "1GB"
        model_of(tied).to(dtype).save_pretrained(root / name / "tiny", max_shard_size=size)
    return {name: root / name / "tiny" for name in ("bfloat16", "float32", "tied")}


def adapter_of(folder: Path, base: Path, **kind) -> Path:
    """As PEFT saves it, with values that change the outputs."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base)
    keys = {"r": 4, "lora_alpha": 8, "target_modules": ATTENTION, "task_type": "CAUSAL_LM", **kind}
    peft = get_peft_model(model, LoraConfig(**keys))
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in peft.named_parameters():
            if parameter.requires_grad and "magnitude" in name:
                parameter.mul_(1 + 0.1 * torch.rand_like(parameter))
            elif parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.05)
    peft.save_pretrained(folder)
    return folder


def tensors(folder: Path) -> dict:
    from safetensors import safe_open

    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            found.update({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 (no dict)
    return found


def ids(answer: dict) -> list[str]:
    return [finding["id"] for finding in answer["findings"]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_merged_model_is_base_and_adapter(kind, bases, tmp_path):
    """Read by transformers, it answers as PEFT's model does; in float32 its weights are PEFT's merged ones."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    for dtype in ("bfloat16", "float32"):
        base = bases[dtype]
        adapter = adapter_of(tmp_path / f"adapter-{dtype}", base, **KINDS[kind])
        answer = export(str(adapter), str(tmp_path / dtype), base=str(base), compared=True)
        assert ids(answer)[0] == "export-whole", answer["findings"]
        outputs = answer["outputs"]
        assert outputs["difference"] < min(outputs["tolerance"], outputs["effect"] / 3), outputs
        assert answer["tensors_changed"] + answer["tensors_as_in_base"] == len(tensors(base))
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "float32", dtype=torch.float32).state_dict()
    peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), tmp_path / "adapter-float32")
    theirs = peft.merge_and_unload().state_dict()
    assert set(merged) == set(theirs)
    for name, value in merged.items():
        assert torch.allclose(value, theirs[name], rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize("targets", [["embed_tokens"], ["lm_head", "o_proj"], ["o_proj"]])
def test_what_the_base_ties_is_untied_where_the_adapter_changes_one_of_the_two(targets, bases, tmp_path):
    adapter = adapter_of(tmp_path / "adapter", bases["tied"], target_modules=targets)

    answer = export(str(adapter), str(tmp_path / "out"), base=str(bases["tied"]), compared=True)

    assert answer["outputs"]["difference"] < 1e-4 < answer["outputs"]["effect"]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["tie_word_embeddings"] is (targets == ["o_proj"])
    assert ("lm_head.weight" in tensors(tmp_path / "out")) is (targets != ["o_proj"])


def small(kind: str):
    """Gemma ties by default and does not write so in its config.json; GPT-2's layers are stored [in, out]."""
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    if kind == "gpt2":
        return GPT2LMHeadModel(GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=2, n_positions=64))
    return Gemma2ForCausalLM(
        Gemma2Config(
            vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, head_dim=16,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "adapted"),
    [
        ("gemma", {"target_modules": ["q_proj", "embed_tokens"]}),
        ("gemma", {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]}),
        ("gemma", {"target_modules": ["q_proj"]}),
        ("gpt2", {"target_modules": ["attn.c_proj", "lm_head"]}),  # PEFT saves what the last layer is
        ("gpt2", {"target_modules": ["c_attn", "mlp.c_proj"]}),
        ("gpt2", {"target_modules": ["wte", "attn.c_proj"], "fan_in_fan_out": True}),
    ],
)
def test_a_class_that_ties_by_itself_and_layers_stored_the_other_way_round(kind, adapted, tmp_path):
    base = tmp_path / "tiny"
    small(kind).save_pretrained(base)
    config = json.loads((base / "config.json").read_text())
    config.pop("tie_word_embeddings", None)  # as transformers 4 writes it
    (base / "config.json").write_text(json.dumps(config))
    adapter = adapter_of(tmp_path / "adapter", base, **adapted)

    answer = export(str(adapter), str(tmp_path / "out"), base=str(base), compared=True)

    assert ids(answer)[0] == "export-whole", answer["findings"]
    assert answer["outputs"]["difference"] < 1e-4 < answer["outputs"]["effect"]
    touched = any(name in json.dumps(adapted) for name in ("embed_tokens", "wte", "lm_head"))
    assert ("lm_head.weight" in tensors(tmp_path / "out")) is touched


def test_small_blocks_make_the_same_file(bases, tmp_path, monkeypatch):
    adapter = adapter_of(tmp_path / "adapter", bases["bfloat16"], target_parameters=EXPERTS)
    export(str(adapter), str(tmp_path / "one"), base=str(bases["bfloat16"]), compared=False)
    monkeypatch.setattr(merging, "BLOCK_VALUES", 100)
    answer = export(str(adapter), str(tmp_path / "two"), base=str(bases["bfloat16"]), compared=False)

    assert ids(answer) == ["export-whole", "export-not-compared"], answer["findings"]
    files = [json.loads((tmp_path / name / EXPORT).read_text())["files"] for name in ("one", "two")]
    assert files[0] == files[1]


# ---- refused, and nothing is left ----


@pytest.fixture(scope="module")
def plain(bases, tmp_path_factory) -> Path:
    return adapter_of(tmp_path_factory.mktemp("plain") / "adapter", bases["float32"])


def refused(adapter: Path, out: Path, **keys) -> list[str]:
    answer = export(str(adapter), str(out / "merged"), **keys)
    assert answer["path"] is None
    assert [path.name for path in out.iterdir()] == []
    return ids(answer)


@pytest.fixture
def out(tmp_path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_damaged_adapter_is_refused(plain, bases, tmp_path, out):
    adapter = shutil.copytree(plain, tmp_path / "adapter")
    weights = adapter / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])

    assert refused(adapter, out, base=str(bases["float32"])) == ["adapter-truncated"]


def test_another_models_adapter_is_refused(plain, bases, tmp_path, out):
    renamed = tmp_path / "other-model"
    shutil.copytree(bases["float32"], renamed)
    assert refused(plain, out, base=str(renamed)) == ["adapter-wrong-base"]
    assert export(str(plain), str(out / "merged"), base=str(renamed), accept=("adapter-wrong-base",), compared=False)[
        "path"]  # fmt: skip

    config = plain / "adapter_config.json"
    shutil.rmtree(out / "merged")
    smaller = shutil.copytree(plain, tmp_path / "adapter")
    from safetensors.torch import load_file, save_file

    cut = {name: t[:, :-1].contiguous() if "q_b_proj.lora_A" in name else t
           for name, t in load_file(plain / "adapter_model.safetensors").items()}  # fmt: skip
    save_file(cut, smaller / "adapter_model.safetensors")
    assert config.exists() and refused(smaller, out, base=str(bases["float32"])) == ["adapter-shape-wrong"]


@pytest.mark.parametrize(
    "key, value",
    [("init_lora_weights", "pissa"), ("layer_replication", [[0, 1]]), ("trainable_token_indices", [1])],
)
def test_what_is_not_known_is_refused_and_not_merged_somehow(key, value, plain, bases, tmp_path, out):
    adapter = shutil.copytree(plain, tmp_path / "adapter")
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, key: value}))

    assert refused(adapter, out, base=str(bases["float32"])) == ["export-unsupported"]


def test_a_base_that_is_quantized_pickled_or_not_whole_is_refused(plain, bases, tmp_path, out):
    import torch
    from safetensors.torch import save_file

    base = shutil.copytree(bases["float32"], tmp_path / "tiny")
    low = tensors(base)
    low["model.layers.0.self_attn.o_proj.weight"] = low["model.layers.0.self_attn.o_proj.weight"].to(
        torch.float8_e4m3fn
    )
    save_file(low, base / "model.safetensors")
    assert refused(plain, out, base=str(base)) == ["export-base-quantized"]
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    assert refused(plain, out, base=str(base)) == ["export-base-missing"]

    half = shutil.copytree(bases["bfloat16"], tmp_path / "half" / "tiny")
    sorted(half.glob("*.safetensors"))[1].unlink()
    assert refused(plain, out, base=str(half)) == ["export-base-missing"]


def test_a_wrong_byte_on_the_disk_is_seen_and_nothing_is_left(plain, bases, out, monkeypatch):
    real, wrote = merging.write_at, []

    def slips(fd, raw, offset):
        real(fd, raw, offset)
        if not wrote:
            real(fd, memoryview(b"\x7f"), offset + 40)
        wrote.append(offset)

    monkeypatch.setattr(merging, "write_at", slips)
    assert refused(plain, out, base=str(bases["float32"])) == ["export-differs"]


def test_a_target_that_is_there_is_left_alone(plain, bases, out):
    (out / "merged").mkdir()
    answer = export(str(plain), str(out / "merged"), base=str(bases["float32"]))

    assert ids(answer) == ["export-exists"] and list((out / "merged").iterdir()) == []


def test_a_full_disk_is_seen_before_a_byte_is_written(plain, bases, out, monkeypatch):
    real = os.statvfs(out)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(
        f_bavail=0, f_frsize=real.f_frsize, f_files=real.f_files, f_favail=real.f_favail))  # fmt: skip

    assert refused(plain, out, base=str(bases["float32"])) == ["export-no-space"]


def test_a_base_without_the_layer_is_refused(plain, bases, tmp_path, out):
    from safetensors.torch import save_file

    base = shutil.copytree(bases["float32"], tmp_path / "tiny")
    left = {name: t for name, t in tensors(base).items() if "layers.1.self_attn.o_proj" not in name}
    save_file(left, base / "model.safetensors")

    assert refused(plain, out, base=str(base)) == ["export-base-lacks"]


def test_a_change_that_the_bases_format_cannot_hold_is_said(bases, tmp_path):
    adapter = adapter_of(tmp_path / "adapter", bases["bfloat16"], lora_alpha=0.001)

    answer = export(str(adapter), str(tmp_path / "out"), base=str(bases["bfloat16"]), compared=False)

    assert "export-rounded" in ids(answer) and answer["lost"] > 0.5


# ---- for vLLM ----


@pytest.mark.parametrize("kind", ["lora", "rslora", "patterns", "fused-experts"])
def test_what_vllm_would_add_is_what_the_merge_adds(kind, bases, tmp_path):
    """vLLM multiplies every B·A by one scale, lora_alpha / r (rsLoRA: by √r), and knows experts by their names."""
    base = bases["float32"]
    adapter = adapter_of(tmp_path / "adapter", base, **KINDS[kind])
    answer = export(str(adapter), str(tmp_path / "vllm"), base=str(base), form="vllm")
    export(str(adapter), str(tmp_path / "merged"), base=str(base), compared=False)

    assert answer["path"] and "export-vllm-absorbed" in ids(answer)
    assert ("export-vllm-experts" in ids(answer)) is (kind == "fused-experts")
    assert ("export-vllm-folded" in ids(answer)) is (kind == "patterns")
    config = json.loads((tmp_path / "vllm" / "adapter_config.json").read_text())
    scale = config["lora_alpha"] / (config["r"] ** 0.5 if config["use_rslora"] else config["r"])
    pairs, before, after = (tensors(tmp_path / "vllm"), tensors(base), tensors(tmp_path / "merged"))
    changed = {name for name in after if not after[name].equal(before[name])}
    for name, a in pairs.items():
        if not name.endswith(".lora_A.weight"):
            continue
        module = name[len("base_model.model.") : -len(".lora_A.weight")]
        assert module.rpartition(".")[2] in config["target_modules"] and a.shape[0] == config["r"]
        added = pairs[name.replace("lora_A", "lora_B")].double() @ a.double() * scale
        expected = after[f"{module}.weight"].double() - before[f"{module}.weight"].double()
        assert (added - expected).abs().max() < 1e-6, module
        changed.discard(f"{module}.weight")
    assert not changed


@pytest.mark.parametrize("kind", ["dora", "saved-modules", "embedding"])
def test_what_vllm_does_not_load_is_refused(kind, bases, tmp_path, out):
    adapter = adapter_of(tmp_path / "adapter", bases["float32"], **KINDS[kind])

    assert refused(adapter, out, base=str(bases["float32"]), form="vllm") == ["export-vllm-refuses"]


def test_a_rank_above_the_servers_is_refused(plain, bases, out):
    keys = {"base": str(bases["float32"]), "form": "vllm"}
    assert refused(plain, out, most_rank=2, **keys) == ["export-vllm-rank"]
    assert export(str(plain), str(out / "merged"), **keys)["max_lora_rank"] == 8
