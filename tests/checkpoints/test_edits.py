"""How an adapter changes each tensor of its base, without a value and without torch: `tests/checkpoints/said` holds
each plan whole. That the values are PEFT's is the matter of test_export.py."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allranks.checkpoints import adapter as parts
from allranks.checkpoints import base_model, edits, serving
from allranks.checkpoints.base_model import Refused
from allranks.checkpoints.export import file_names, shapes_of, untie
from allranks.checkpoints.weights import Tensor, tensors_of
from tests import said
from tests.checkpoints.conftest import SHAPES, Checkpoint, product, safetensors

SAID = Path(__file__).parent / "said" / "test_edits.txt"
EXPERTS = "model.layers.1.mlp.experts"
PARTS = {"gate_proj": (32, 64), "up_proj": (32, 64), "down_proj": (64, 32)}
BASE: dict[str, tuple[int, ...]] = {
    "model.embed_tokens.weight": (256, 64),
    "lm_head.weight": (256, 64),
    "model.norm.weight": (64,),
    **{f"model.layers.{n}.{name}.weight": shape for n in range(3) for name, shape in SHAPES.items()},
    **{f"model.layers.{n}.self_attn.o_proj.bias": (64,) for n in range(3)},
    **{f"{EXPERTS}.{n}.{name}.weight": shape for n in range(2) for name, shape in PARTS.items()},
}
CONFIG = {"model_type": "deepseek_v3", "num_hidden_layers": 3, "vocab_size": 256}


def base_of(folder: Path, shapes: dict[str, tuple[int, ...]], dtype: str = "BF16", **config: Any) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    entries = {name: (dtype, shape, b"\0" * (2 * product(shape))) for name, shape in shapes.items()}
    (folder / "model.safetensors").write_bytes(safetensors(entries))
    return folder


def lora(c: Checkpoint) -> None:
    pass


def rs(c: Checkpoint) -> None:
    c.config["use_rslora"] = True


def patterns(c: Checkpoint) -> None:
    c.config["rank_pattern"] = {"layers.1.self_attn.o_proj": 2}
    c.config["alpha_pattern"] = {"kv_b_proj": 32}
    c.add("model.layers.1.self_attn.o_proj", (64, 64), 2)


def turned(c: Checkpoint) -> None:
    c.config.update(fan_in_fan_out=True, target_modules=["o_proj"])
    c.tensors = {name: entry for name, entry in c.tensors.items() if "o_proj" in name}


def dora(c: Checkpoint) -> None:
    c.config["use_dora"] = True
    for n in range(3):
        for name, shape in SHAPES.items():
            c.put(f"base_model.model.model.layers.{n}.{name}.lora_magnitude_vector", (shape[0],))


def head_saved(c: Checkpoint) -> None:
    c.config["modules_to_save"] = ["lm_head"]
    c.put("base_model.model.lm_head.weight", (256, 64))


def embedding(c: Checkpoint) -> None:
    c.config["target_modules"].append("embed_tokens")
    c.put("base_model.model.model.embed_tokens.lora_embedding_A", (4, 256))
    c.put("base_model.model.model.embed_tokens.lora_embedding_B", (64, 4))


def bias(c: Checkpoint) -> None:
    c.config["lora_bias"] = True
    c.put("base_model.model.model.layers.0.self_attn.o_proj.lora_B.bias", (64,))


def fused(c: Checkpoint) -> None:
    """As PEFT 0.17 does: A is [experts · r, in] of a parameter that it takes for [in, out]."""
    c.config["target_parameters"] = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    for name, rows, columns in (("base_layer.", 64, 64), ("", 32, 64)):
        c.put(f"base_model.model.{EXPERTS}.{name}lora_A.weight", (8, rows))
        c.put(f"base_model.model.{EXPERTS}.{name}lora_B.weight", (columns, 8))


def widened(c: Checkpoint) -> None:
    c.put("base_model.model.model.layers.0.self_attn.o_proj.lora_B.weight", (65, 4))


def three_dimensions(c: Checkpoint) -> None:
    c.put("base_model.model.model.layers.0.self_attn.o_proj.lora_B.weight", (64, 4, 1))


def elsewhere(c: Checkpoint) -> None:
    c.add("model.layers.7.self_attn.o_proj", (64, 64))


def strange_start(c: Checkpoint) -> None:
    c.config["init_lora_weights"] = "pissa"


def strange_key(c: Checkpoint) -> None:
    c.config["arrow_config"] = {"top_k": 3}


def wrong_head(c: Checkpoint) -> None:
    c.config["modules_to_save"] = ["lm_head"]
    c.put("base_model.model.lm_head.weight", (257, 64))


def single_tokens(c: Checkpoint) -> None:
    c.put("base_model.model.model.embed_tokens.trainable_tokens_delta", (3, 64))


def bias_nowhere(c: Checkpoint) -> None:
    c.config["lora_bias"] = True
    c.put("base_model.model.model.layers.0.self_attn.q_a_proj.lora_B.bias", (32,))


MERGED = (lora, rs, patterns, turned, dora, head_saved, embedding, bias, fused)
REFUSED = (
    widened, three_dimensions, elsewhere, strange_start, strange_key, wrong_head, single_tokens, bias_nowhere,
)  # fmt: skip


def prepared(change: Callable[[Checkpoint], None], folder: Path, **config: Any) -> tuple[Any, Any, Any]:
    checkpoint = Checkpoint(folder / "run" / "checkpoint-20")
    change(checkpoint)
    checkpoint.write()
    shapes = {name: shape for name, shape in BASE.items() if not (config and name == "lm_head.weight")}
    base = base_model.read(str(base_of(folder / "base", shapes, **config)))
    raw = checkpoint.config
    tensors = tensors_of(str(checkpoint.weights))
    return parts.sort_tensors(parts.parse_config(raw), tensors), raw, base


def texts(label: str, values: Any) -> list[str]:
    """A line for each tensor that changes."""
    each = values.values() if isinstance(values, dict) else values
    return [f"{label}: {json.dumps(as_data(one))}" for one in each]


def as_data(value: Any) -> Any:
    if isinstance(value, Tensor):
        return f"{value.name.replace(parts.PREFIX, '')} {list(value.shape)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_data(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: as_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_data(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else as_data(vars(value))


@pytest.mark.parametrize("change", MERGED, ids=lambda one: one.__name__)
def test_what_each_kind_of_adapter_changes(change: Callable[[Checkpoint], None], tmp_path: Path) -> None:
    adapter, raw, base = prepared(change, tmp_path)
    name = change.__name__
    told = texts(name, edits.plan(adapter, raw, base, "adapter"))
    told += [f"{name} shapes: {shapes_of(base, adapter)}"]
    told += [f"{name} for vLLM: {one.saw}" for one in serving.refusals(adapter, raw, 8, "adapter")]
    if not serving.refusals(adapter, raw, 8, "adapter"):
        told += texts(f"{name} for vLLM", serving.pairs(adapter, raw, base, "adapter"))
    said.hold(SAID, [line.replace(str(tmp_path), "") for line in told])


@pytest.mark.parametrize("change", REFUSED, ids=lambda one: one.__name__)
def test_what_cannot_be_merged_exactly_is_refused(
    change: Callable[[Checkpoint], None], tmp_path: Path
) -> None:
    adapter, raw, base = prepared(change, tmp_path)
    with pytest.raises(Refused) as refused:
        edits.plan(adapter, raw, base, "adapter")
    told = [line.replace(str(tmp_path), "") for line in said.lines(refused.value.findings)]
    said.hold(SAID, [f"{change.__name__}: {line}" for line in told])


def test_the_scale_is_alpha_by_rank(tmp_path: Path) -> None:
    for number, (change, scale) in enumerate(((lora, 8 / 4), (rs, 8 / math.sqrt(4)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = edits.plan(*prepared(change, folder), "adapter")
        assert {change.scale for edit in table.values() for change in edit.changes} == {scale}


@pytest.mark.parametrize("change", [lora, head_saved, embedding], ids=lambda one: one.__name__)
def test_what_the_base_stores_once_for_two_is_untied(
    change: Callable[[Checkpoint], None], tmp_path: Path
) -> None:
    adapter, raw, base = prepared(change, tmp_path, tie_word_embeddings=True)
    untied = untie(edits.plan(adapter, raw, base, "adapter"), base, raw, "adapter")
    assert untied == ({} if change is lora else {"lm_head.weight": "model.embed_tokens.weight"})
    names, extra = file_names(base, untied)
    assert (list(names.values()), extra) == (
        (["model.safetensors"], None)
        if change is lora
        else (["model-00001-of-00002.safetensors"], "model-00002-of-00002.safetensors")
    )


@pytest.mark.parametrize(
    ("config", "stored", "tied"),
    [
        ({"architectures": ["Gemma2ForCausalLM"]}, False, True),
        ({"architectures": ["Gemma2ForCausalLM"]}, True, False),
        ({"architectures": ["Gemma2ForSequenceClassification"]}, False, False),
        ({"architectures": ["Gemma2ForCausalLM"], "tie_word_embeddings": False}, False, False),
        ({"tie_word_embeddings": True}, True, True),
        ({}, False, True),
    ],
)
def test_whether_a_base_ties_its_output_layer(
    config: dict[str, Any], stored: bool, tied: bool, tmp_path: Path
) -> None:
    shapes = {name: shape for name, shape in BASE.items() if stored or name != "lm_head.weight"}
    assert base_model.read(str(base_of(tmp_path / "base", shapes, **config))).is_tied is tied


def test_which_layers_a_base_stores_the_other_way_round(tmp_path: Path) -> None:
    """A bias has one value for each output."""
    shapes: dict[str, tuple[int, ...]] = {
        **{"h.0.attn.c_proj.weight": (8, 8), "h.0.attn.c_proj.bias": (8,)},
        **{"h.0.mlp.c_proj.weight": (32, 8), "h.0.mlp.c_proj.bias": (8,)},
        **{"h.0.up.weight": (32, 8), "h.0.up.bias": (32,), "h.0.down.weight": (8, 32)},
        **{
            "h.0.odd.weight": (32, 8),
            "h.0.odd.bias": (32,),
            "h.1.odd.weight": (8, 32),
            "h.1.odd.bias": (32,),
        },
    }
    base = base_model.read(str(base_of(tmp_path / "base", shapes)))
    told = {
        name: base.is_turned(f"h.0.{name}") for name in ("attn.c_proj", "mlp.c_proj", "up", "down", "odd")
    }
    assert told == {"attn.c_proj": True, "mlp.c_proj": True, "up": False, "down": None, "odd": None}


def test_a_quantized_base_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run" / "checkpoint-20").write()
    base = base_model.read(str(base_of(tmp_path / "base", BASE, "I16")))
    adapter = parts.sort_tensors(parts.parse_config(checkpoint.config), tensors_of(str(checkpoint.weights)))
    with pytest.raises(Refused) as refused:
        edits.plan(adapter, checkpoint.config, base, "adapter")
    assert [one.id for one in refused.value.findings] == ["export-base-quantized"]
