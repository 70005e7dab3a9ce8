"""Every kind of damage that the catalogue names: made from a whole adapter, refused, and called by its name."""

from __future__ import annotations

import json
import os
import socket
import struct

import pytest

from allranks import checkpoints
from tests.checkpoints import test_kinds
from tests.harness.cost import cost

NAN = struct.pack("<f", float("nan"))[2:]
INFINITY = struct.pack("<f", float("-inf"))[2:]
O_PROJ = "base_model.model.model.layers.1.self_attn.o_proj"

DAMAGES = []


def damage(*ids, expect=None, also=()):
    """Registers a way of damaging a checkpoint and the ids that must be reported, `also` may be."""

    def register(function):
        DAMAGES.append(pytest.param(function, set(ids), set(also), expect or {}, id=function.__name__))
        return function

    return register


# ---- the folder ----


@damage("checkpoint-missing")
def no_folder(c, raw):
    c.path.parent.mkdir(parents=True, exist_ok=True)


@damage("checkpoint-link-outside")
def weights_are_a_link_out(c, raw):
    c.write(manifest=False)
    moved = c.path.parent / "elsewhere.safetensors"
    c.weights.rename(moved)
    c.weights.symlink_to(moved)


@damage("checkpoint-link-outside")
def a_manifest_file_is_a_link_out(c, raw):
    c.write()
    (c.path.parent / "config.json").write_bytes((c.path / "adapter_config.json").read_bytes())
    (c.path / "adapter_config.json").unlink()
    (c.path / "adapter_config.json").symlink_to("../config.json")


@damage("checkpoint-link-outside")
def a_folder_within_is_a_link_out(c, raw):
    c.write()
    (c.path.parent / "other").mkdir()
    (c.path.parent / "other" / "state.bin").write_bytes(b"state")
    (c.path / "optimizer").symlink_to("../other")
    c.covered.append("optimizer/state.bin")
    c.seal()


@damage("checkpoint-not-a-file")
def weights_are_a_pipe(c, raw):
    c.write(manifest=False).weights.unlink()
    os.mkfifo(c.weights)


@damage("checkpoint-not-a-file")
def weights_are_a_socket(c, raw):
    c.write(manifest=False).weights.unlink()
    here = os.getcwd()
    os.chdir(c.path)  # a socket's path may have 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(c.weights.name)
    finally:
        os.chdir(here)


@damage("checkpoint-not-a-file")
def weights_are_a_folder(c, raw):
    c.write(manifest=False).weights.unlink()
    c.weights.mkdir()


@damage("checkpoint-unfinished")
def the_trainer_did_not_finish(c, raw):
    c.state = None
    c.write(manifest=False)
    (c.path / "training_args.bin").write_bytes(b"x")


@damage("checkpoint-unfinished")
def a_temporary_folder(c, raw):
    c.path = c.path.parent / "tmp-checkpoint-20"
    c.write(manifest=False)


@damage("checkpoint-unfinished")
def a_temporary_file_of_the_weights(c, raw):
    c.write(manifest=False)
    (c.path / "adapter_model.safetensors.tmp").write_bytes(b"half")


@damage("checkpoint-unfinished")
def a_broken_trainer_state(c, raw):
    c.write(manifest=False)
    (c.path / "trainer_state.json").write_text('{"global_step": 2')


@damage("checkpoint-mixed-steps")
def trainer_state_of_another_step(c, raw):
    c.state["global_step"] = 10
    c.write(manifest=False)


@damage("checkpoint-mixed-steps")
def manifest_of_another_step(c, raw):
    c.manifest_step = 10
    c.write()


@damage("checkpoint-wrong-step", expect={"step": 40})
def not_the_step_that_was_asked_for(c, raw):
    c.write()


@damage("checkpoint-altered")
def one_bit_of_the_weights(c, raw):
    c.write()
    data = bytearray(c.weights.read_bytes())
    data[-1] ^= 1
    c.weights.write_bytes(bytes(data))


@damage("checkpoint-altered")
def one_letter_of_the_state(c, raw):
    c.write()
    (c.path / "trainer_state.json").write_text(json.dumps(dict(c.state, epoch=1)))


@damage("checkpoint-file-missing")
def a_file_of_the_manifest_is_gone(c, raw):
    c.write()
    (c.path / "trainer_state.json").unlink()


@damage("checkpoint-file-missing")
def the_manifest_is_a_link_to_nothing(c, raw):
    c.write(manifest=False)
    (c.path / "allranks.json").symlink_to("gone.json")


@damage("checkpoint-manifest-broken")
def half_a_manifest(c, raw):
    c.write()
    text = (c.path / "allranks.json").read_text()
    (c.path / "allranks.json").write_text(text[: len(text) // 2])


@damage("checkpoint-manifest-broken")
def a_manifest_without_the_weights(c, raw):
    c.covered.remove("adapter_model.safetensors")
    c.write()


@damage("checkpoint-manifest-broken")
def a_manifest_that_leaves_the_folder(c, raw):
    c.write()
    manifest = json.loads((c.path / "allranks.json").read_text())
    manifest["files"]["../../etc/passwd"] = {"bytes": 1, "sha256": "0" * 64}
    (c.path / "allranks.json").write_text(json.dumps(manifest))


# ---- the adapter's files ----


@damage("adapter-missing")
def nothing_but_a_state(c, raw):
    c.path.mkdir(parents=True)
    (c.path / "trainer_state.json").write_text(json.dumps(c.state))


@damage("adapter-missing")
def weights_are_a_link_to_nothing(c, raw):
    c.write(manifest=False).weights.unlink()
    c.weights.symlink_to("gone")


@damage("adapter-pickled")
def a_pickle(c, raw):
    c.write(manifest=False).weights.rename(c.path / "adapter_model.bin")


@damage("adapter-config-missing")
def no_config(c, raw):
    c.write(manifest=False)
    (c.path / "adapter_config.json").unlink()


@damage("adapter-config-broken")
def half_a_config(c, raw):
    c.write(manifest=False)
    (c.path / "adapter_config.json").write_text('{"r": 4')


@damage("adapter-config-broken")
def a_config_nested_too_deep(c, raw):
    c.write(manifest=False)
    (c.path / "adapter_config.json").write_text("[" * 200_000)


@damage("adapter-config-broken")
def a_rank_that_is_no_number(c, raw):
    c.config["r"] = "four"
    c.write()


@damage("adapter-kind-unknown")
def another_kind_of_adapter(c, raw):
    c.config["peft_type"] = "OFT"
    c.write()


@damage("adapter-empty")
def the_forty_bytes_of_zero3(c, raw):
    c.tensors = {}
    c.write()
    assert c.weights.stat().st_size == 40


@damage("adapter-truncated")
def the_last_byte_is_gone(c, raw):
    c.write(manifest=False)
    c.weights.write_bytes(c.weights.read_bytes()[:-1])


@damage("adapter-truncated")
def an_empty_file(c, raw):
    c.write(manifest=False).weights.write_bytes(b"")


@damage("adapter-truncated")
def half_a_header(c, raw):
    c.write(manifest=False)
    c.weights.write_bytes(c.weights.read_bytes()[:200])


@damage("adapter-trailing-bytes")
def a_byte_too_many(c, raw):
    c.write(manifest=False)
    c.weights.write_bytes(c.weights.read_bytes() + b"\0")


@damage("adapter-header-broken")
def a_header_that_is_no_json(c, raw):
    c.write(manifest=False).weights.write_bytes(raw({}, header=b'{"a": }'))


@damage("adapter-header-broken")
def a_header_of_brackets(c, raw):
    c.write(manifest=False).weights.write_bytes(raw({}, header=b'{"a":' + b"[" * 200_000))


@damage("adapter-header-broken")
def a_shape_with_a_huge_number(c, raw):
    header = b'{"a":{"dtype":"F32","shape":[' + b"9" * 100_000 + b'],"data_offsets":[0,0]}}'
    c.write(manifest=False).weights.write_bytes(raw({}, header=header))


@damage("adapter-header-too-large")
def a_header_of_an_exabyte(c, raw):
    c.write(manifest=False)
    c.weights.write_bytes(struct.pack("<Q", 1 << 60) + c.weights.read_bytes()[8:])


@damage("adapter-duplicate-tensor")
def a_tensor_twice(c, raw):
    entry = b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    header = b"{" + entry + b"," + entry + b"}"
    c.write(manifest=False).weights.write_bytes(raw({}, header=header) + b"\0\0\0\0")


def _with_offsets(c, raw, change):
    c.write(manifest=False)
    data = c.weights.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8 : 8 + length])
    change(table)
    c.weights.write_bytes(raw({}, header=json.dumps(table).encode()) + data[8 + length :])


@damage("adapter-offsets-broken")
def overlapping_tensors(c, raw):
    def change(table):
        first, second = [n for n in table if n != "__metadata__"][:2]
        size = table[second]["data_offsets"][1] - table[second]["data_offsets"][0]
        table[second]["data_offsets"] = [0, size]
        table[first]["data_offsets"][0] = 0

    _with_offsets(c, raw, change)


@damage("adapter-offsets-broken")
def a_shape_that_does_not_fit_its_bytes(c, raw):
    def change(table):
        table[O_PROJ + ".lora_A.weight"]["shape"] = [4, 63]

    _with_offsets(c, raw, change)


@damage("adapter-offsets-broken")
def a_hole_between_tensors(c, raw):
    def change(table):
        del table[O_PROJ + ".lora_A.weight"]

    _with_offsets(c, raw, change)


@damage("adapter-dtype-unknown")
def a_dtype_of_the_future(c, raw):
    def change(table):
        table[O_PROJ + ".lora_A.weight"]["dtype"] = "F2"

    _with_offsets(c, raw, change)


# ---- what the tensors hold ----


@damage("adapter-ungathered")
def a_tensor_that_was_not_gathered(c, raw):
    c.put(O_PROJ + ".lora_A.weight", (0,), b"")
    c.write()


@damage("adapter-not-finite")
def one_nan(c, raw):
    _, shape, data = c.tensors[O_PROJ + ".lora_A.weight"]
    c.put(O_PROJ + ".lora_A.weight", shape, data[:-2] + NAN)
    c.write()


@damage("adapter-not-finite")
def one_infinity(c, raw):
    _, shape, data = c.tensors[O_PROJ + ".lora_B.weight"]
    c.put(O_PROJ + ".lora_B.weight", shape, INFINITY + data[2:])
    c.write()


@damage("adapter-untrained", expect={"trained": True})
def every_lora_b_is_zero(c, raw):
    for name, (_, shape, data) in list(c.tensors.items()):
        if ".lora_B." in name:
            c.put(name, shape, bytes(len(data)))
    c.write()


@damage("adapter-untrained", expect={"trained": True})
def lora_b_of_one_layer_is_minus_zero(c, raw):
    _, shape, data = c.tensors[O_PROJ + ".lora_B.weight"]
    c.put(O_PROJ + ".lora_B.weight", shape, b"\0\x80" * (len(data) // 2))
    c.write()


# ---- names, ranks, shapes ----


@damage("adapter-unpaired")
def a_lora_a_alone(c, raw):
    del c.tensors[O_PROJ + ".lora_B.weight"]
    c.write()


@damage("adapter-unpaired")
def a_lora_b_alone(c, raw):
    del c.tensors[O_PROJ + ".lora_A.weight"]
    c.write()


@damage("adapter-rank-differs")
def one_module_of_another_rank(c, raw):
    c.add("model.layers.1.self_attn.o_proj", (64, 64), rank=8)
    c.write()


@damage("adapter-rank-differs")
def a_config_of_another_rank(c, raw):
    c.config["r"] = 8
    c.write()


@damage("adapter-rank-differs")
def a_rank_pattern_that_was_not_followed(c, raw):
    c.config["rank_pattern"] = {"o_proj": 2}
    c.write()


@damage("adapter-wrong-rank", expect={"rank": 16})
def not_the_rank_that_was_asked_for(c, raw):
    c.write()


@damage("adapter-wrong-alpha", expect={"alpha": 32})
def not_the_alpha_that_was_asked_for(c, raw):
    c.write()


@damage("adapter-wrong-targets", expect={"targets": ["q_proj", "o_proj"]})
def not_the_targets_that_were_asked_for(c, raw):
    c.write()


@damage("adapter-wrong-targets")
def a_manifest_of_other_targets(c, raw):
    c.write()
    manifest = json.loads((c.path / "allranks.json").read_text())
    (c.path / "allranks.json").write_text(json.dumps(dict(manifest, targets=["o_proj"])))


@damage("adapter-wrong-base", expect={"base_model": "/models/llama-3-8b"})
def another_base_by_name(c, raw):
    c.write()


@damage(
    "adapter-wrong-base",
    expect={
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 128},
        "regular": True,
    },
)
def another_base_by_hidden_size(c, raw):
    c.write()


@damage("adapter-wrong-base", expect={"base_config": {"num_hidden_layers": 2}})
def more_layers_than_the_base(c, raw):
    c.write()


@damage("adapter-target-missing", also=("adapter-count-differs",))
def a_target_without_a_tensor(c, raw):
    c.tensors = {n: e for n, e in c.tensors.items() if "kv_b_proj" not in n}
    c.write()


@damage("adapter-target-missing")
def fused_experts_were_dropped(c, raw):
    c.config["target_parameters"] = ["mlp.experts.gate_up_proj"]
    c.write()


@damage(
    "adapter-module-missing",
    expect={
        "base_config": {"model_type": "deepseek_v3", "num_hidden_layers": 4, "hidden_size": 64},
        "regular": True,
    },
)
def the_last_layer_is_missing(c, raw):
    c.write()


@damage("adapter-module-missing", expect={"shapes": {"model.layers.1.self_attn.o_proj": [64, 64]}})
def a_module_of_the_plan_is_missing(c, raw):
    for half in ("A", "B"):
        del c.tensors[f"{O_PROJ}.lora_{half}.weight"]
    c.write()


@damage(
    "adapter-module-missing",
    expect={"shapes": {O_PROJ[len("base_model.model.") :] + ".lora_A.weight": [4, 64]}},
)
def a_tensor_of_the_plan_is_missing(c, raw):
    for half in ("A", "B"):
        del c.tensors[f"{O_PROJ}.lora_{half}.weight"]
    c.write()


@damage("adapter-layers-uneven")
def a_module_is_missing_and_nothing_says_so(c, raw):
    for half in ("A", "B"):
        del c.tensors[f"{O_PROJ}.lora_{half}.weight"]
    c.write()


@damage("adapter-layers-uneven")
def a_layer_is_missing_and_nothing_says_so(c, raw):
    c.add("model.layers.4.self_attn.o_proj", (64, 64))
    c.tensors = {n: e for n, e in c.tensors.items() if "o_proj" in n}
    c.config["target_modules"] = ["o_proj"]
    c.write()


@damage("adapter-foreign-tensor")
def a_module_of_another_adapter(c, raw):
    for layer in range(3):
        c.add(f"model.layers.{layer}.mlp.down_proj", (64, 64))
    c.write()


@damage("adapter-foreign-tensor")
def a_tensor_that_is_no_adapter(c, raw):
    c.put("base_model.model.model.norm.weight", (64,))
    c.write()


@damage("adapter-foreign-tensor")
def a_layer_that_the_config_leaves_out(c, raw):
    c.config["layers_to_transform"] = [0, 1]
    c.write()


@damage("adapter-shape-wrong", expect={"shapes": {"self_attn.o_proj": [64, 128]}})
def another_size_than_the_base(c, raw):
    c.write()


@damage("adapter-shape-wrong", expect={"shapes": {O_PROJ + ".lora_A.weight": [8, 64]}})
def another_size_than_the_planned_tensor(c, raw):
    c.write()


@damage("adapter-shapes-disagree")
def one_layer_of_another_size(c, raw):
    c.add("model.layers.1.self_attn.o_proj", (64, 96))
    c.write()


@damage("adapter-saved-module-missing")
def a_saved_module_is_gone(c, raw):
    c.config["modules_to_save"] = ["lm_head"]
    c.write()


@damage("adapter-magnitude-missing")
def dora_without_magnitudes(c, raw):
    c.config["use_dora"] = True
    c.write()


@damage("adapter-magnitude-missing")
def dora_with_too_few_magnitudes(c, raw):
    c.config["use_dora"] = True
    for name, (_, shape, _) in list(c.tensors.items()):
        if name.endswith(".lora_B.weight"):
            outputs = shape[0] - (1 if name.startswith(O_PROJ) else 0)
            c.put(name.replace(".lora_B.weight", ".lora_magnitude_vector"), (outputs,))
    c.write()


@damage("adapter-pattern-not-tried")
def a_pattern_with_a_back_reference(c, raw):
    c.config["target_modules"] = r"(.*)(.*)(.*)(.*)\2"
    c.write()


@damage("adapter-too-large")
def half_a_million_target_names(c, raw):
    c.config["target_modules"] = [f"name{n}" for n in range(500_000)]
    c.write()


@damage("adapter-count-differs", expect={"trainable_parameters": 7009})
def another_number_of_parameters(c, raw):
    c.write()


@damage("adapter-count-differs", expect={"tensors": 32})
def another_number_of_tensors(c, raw):
    c.write()


@pytest.mark.parametrize(("make_damage", "ids", "also", "expect"), DAMAGES)
def test_damage_is_refused_by_its_name(make_damage, ids, also, expect, checkpoint, raw):
    make_damage(checkpoint, raw)

    report = checkpoints.verify(str(checkpoint.path), expect)

    seen = {f.id for f in report.findings if f.verdict in ("block", "unknown")}
    assert ids <= seen <= ids | also
    assert not report.whole
    assert report.exit_code in (1, 3)
    assert all(f.saw and f.why and f.fix for f in report.findings)


def test_a_file_that_cannot_be_read_is_unknown_not_whole(checkpoint, monkeypatch):
    checkpoint.write(manifest=False)

    def broken_disk(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken_disk)
    report = checkpoints.verify(str(checkpoint.path))

    assert [f.id for f in report.findings] == ["checkpoint-unreadable"]
    assert report.exit_code == 3


def test_every_refusal_of_the_catalogue_is_tried_here():
    tried = set().union(*(case.values[1] for case in DAMAGES)) | {"checkpoint-unreadable"}
    refusals = {k.id for k in checkpoints.CATALOGUE.values() if k.verdict in ("block", "unknown")}
    elsewhere = {"prune-not-ours", "prune-nothing-verified", "save-space-unknown", "checkpoint-not-resumable"}

    exports = {id for id in refusals if id.startswith("export-")}  # test_export.py
    other_kinds = {id for _, id, _ in test_kinds.DAMAGED} - tried
    assert tried == refusals - elsewhere - exports - other_kinds


def test_a_name_in_a_file_cannot_write_to_the_terminal(checkpoint):
    checkpoint.put("base_model.model.\x1b[2J\x1b]0;gone\x07.weight", (4,))
    checkpoint.write()

    report = checkpoints.verify(str(checkpoint.path))

    text = json.dumps([f.as_json() for f in report.findings], ensure_ascii=False)
    assert "adapter-foreign-tensor" in text
    assert "\x1b" not in text and "\x07" not in text


def test_a_hostile_pattern_costs_no_time(checkpoint):
    checkpoint.config["target_modules"] = "(.*a)+(.*b)+(.*c)+$"
    checkpoint.config["rank_pattern"] = {"(a+)+$": 4}
    checkpoint.write()

    def whole():
        assert checkpoints.verify(str(checkpoint.path)).tensors > 0

    assert cost(whole, enough=10) < 10
