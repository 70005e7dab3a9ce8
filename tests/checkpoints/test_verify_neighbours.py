"""What is said of checkpoints with one or two small differences: `tests/checkpoints/said/neighbours.txt` has each.

The differences are drawn from a seed: values of the configs, names, shapes and values of tensors, the manifest, and
what the run promised. That each damage is refused by its name is the matter of test_verify_damage.py.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allranks import checkpoints
from tests import said
from tests.checkpoints.conftest import BASE_CONFIG, Checkpoint, product

SEEDS = range(160)
START = "base_model.model.model.layers."
CONFIG: dict[str, tuple[Any, ...]] = {
    "r": (1, 0, -1, 5, True, "4"), "lora_alpha": (8.5, 0, "8", None), "peft_type": ("IA3", None, 3),
    "target_modules": (
        "all-linear", r".*\.self_attn\..*", ["o_proj"], [], None, ["q_a_proj", "kv_b_proj", "o_proj", "x"],
        r".*layers\.[01].*",
    ),
    "bias": ("all", "lora_only", None), "use_dora": (True,), "task_type": ("SEQ_CLS", "TOKEN_CLS"),
    "modules_to_save": (["lm_head"], ["score"], [""], "lm_head"), "layers_to_transform": ([0, 1], 2, [], ["1"], [True]),
    "rank_pattern": ({"o_proj": 4}, {"o_proj": 2}, {"layers.1.self_attn.o_proj": 8}, {"x": 0}, {"(o|q).*": 3}, []),
    "base_model_name_or_path": ("/models/other", "tiny-deepseek-v3", None, "/models/tiny-deepseek-v3/"),
    "target_parameters": (["mlp.experts.down_proj"], ["experts"]),
}  # fmt: skip
EXPECT: dict[str, tuple[Any, ...]] = {
    "base_config": (BASE_CONFIG, {**BASE_CONFIG, "num_hidden_layers": 4}, {**BASE_CONFIG, "num_hidden_layers": 2},
                    {**BASE_CONFIG, "hidden_size": 32}, {**BASE_CONFIG, "num_hidden_layers": "3"}),
    "regular": (True,),
    "base_model": ("tiny-deepseek-v3", "/models/tiny-deepseek-v3", "/m/other", "org/tiny-deepseek-v3"),
    "rank": (4, 5), "alpha": (8, 8.0, 16), "trained": (True,), "step": (20, 21), "tensors": (30, 31),
    "targets": (["o_proj"], ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"], "all", r".*o_proj"),
    "trainable_parameters": (7008, 7007), "shapes": ({"o_proj": [64, 64]}, {"o_proj": [64, 65], "q_a_proj": [32, 64]}),
}  # fmt: skip
Part = Callable[[Checkpoint, dict[str, Any], random.Random], str]


def config(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    key = chance.choice(sorted(CONFIG))
    c.config[key] = chance.choice(CONFIG[key])
    return f"{key} = {c.config[key]!r}"


def promise(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    key = chance.choice(sorted(EXPECT))
    expect[key] = chance.choice(EXPECT[key])
    return f"promised {key} {str(expect[key])[-40:]}"


def missing(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    name = chance.choice(sorted(c.tensors))
    del c.tensors[name]
    return f"without {name.removeprefix(START)}"


def missing_module(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    piece = chance.choice(("o_proj", "layers.1.", "layers.2.self_attn.q_a_proj", "kv_b_proj", "layers.0."))
    c.tensors = {name: one for name, one in c.tensors.items() if piece not in name}
    return f"without {piece}"


def reshaped(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    name = chance.choice(sorted(c.tensors))
    dtype, shape, _ = c.tensors[name]
    new = chance.choice(
        ((shape[0] + 1, shape[1]), (shape[0], shape[1] - 1), (product(shape),), (*shape, 1), shape[::-1])
    )
    c.put(name, new, dtype=dtype)
    return f"{name.removeprefix(START)} {new}"


def retyped(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    name, dtype = chance.choice(sorted(c.tensors)), chance.choice(("F32", "F16", "F64"))
    c.put(name, c.tensors[name][1], dtype=dtype)
    return f"{name.removeprefix(START)} {dtype}"


def valued(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    """One value, or all of one kind of tensor, or of a layer."""
    piece = chance.choice(("lora_A", "lora_B", "layers.1.", "layers.2.self_attn.o_proj.lora_B"))
    bits, count = chance.choice(((0, 0), (0x7FC0, 1), (0x7F80, 1), (0x7F7F, 1), (0x4500, 0)))
    for name in [name for name in c.tensors if piece in name][: 1 if count else None]:
        dtype, shape, data = c.tensors[name]
        new = struct.pack("<H", bits) * (count or product(shape))
        c.tensors[name] = (dtype, shape, (new + data[len(new) :]) if dtype == "BF16" else data)
    return f"{piece} 0x{bits:04x}"


def added(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    name = chance.choice(
        (
            "base_model.model.lm_head.weight", f"{START}0.self_attn.o_proj.bias",
            f"{START}3.self_attn.o_proj.lora_A.weight",
            "base_model.model.score.weight", f"{START}0.mlp.gate_proj.lora_A.weight", "model.embed_tokens.weight",
            f"{START}1.self_attn.o_proj.lora_magnitude_vector", f"{START}1.self_attn.o_proj.lora_B.bias", "else",
        )
    )  # fmt: skip
    c.put(name, (64,) if not name.endswith("lora_A.weight") else (4, 64))
    return f"with {name.removeprefix(START)}"


def stated(c: Checkpoint, expect: dict[str, Any], chance: random.Random) -> str:
    c.state = chance.choice(
        ({"global_step": 21}, {"global_step": "20"}, None, {"global_step": True}, {"global_step": 0})
    )
    c.manifest_step = chance.choice((20, 20, 21, None, -1, "x"))
    return f"state {c.state}, manifest {c.manifest_step}"


PARTS: tuple[Part, ...] = (
    config, config, promise, promise, missing, missing_module, reshaped, retyped, valued, added, stated,
)  # fmt: skip


@pytest.mark.parametrize("part", range(2))
def test_what_is_said_of_small_differences(part: int, tmp_path: Path) -> None:
    told = []
    for seed in SEEDS[part::2]:
        chance = random.Random(seed)
        checkpoint, expect = Checkpoint(tmp_path / str(seed) / "checkpoint-20"), {}
        chosen = [PARTS[seed % len(PARTS)], *chance.sample(PARTS, chance.choice((0, 1, 1)))]
        names = "; ".join([one(checkpoint, expect, chance) for one in chosen if checkpoint.tensors])
        checkpoint.write()
        report = checkpoints.verify(str(checkpoint.path), expect)
        about = f"{report.whole} {report.step} {report.tensors} {report.parameters} {report.can_resume}"
        told.append(f"{seed} ({names}): {about}")
        told += [f"{seed} {one.id} {one.verdict}: {one.saw} | {one.expected}" for one in report.findings]
    said.hold(
        Path(__file__).parent / "said" / "neighbours.txt", [one.replace(str(tmp_path), "") for one in told]
    )
