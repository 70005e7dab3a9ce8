"""What an export writes, value by value, against the same arithmetic in numpy. torch alone, in this process: that
PEFT, transformers and vLLM agree is the matter of test_export.py."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from allranks.checkpoints import base_model, edits, export_folder, merging, proving, serving
from allranks.checkpoints import export as exporting
from allranks.checkpoints.export import export
from tests import said
from tests.checkpoints import test_edits as kinds
from tests.checkpoints.conftest import Checkpoint, safetensors

pytestmark = pytest.mark.tensors

SAID = Path(__file__).parent / "said" / "test_export_values.txt"
START = "base_model.model."
Arrays = dict[str, Any]


def coded(values: Any, dtype: str) -> bytes:
    single = np.asarray(values, "<f4")
    return single.tobytes() if dtype == "F32" else (single.view("<u4") >> 16).astype("<u2").tobytes()


def written(path: Path) -> Arrays:
    """Each tensor of a file, or of all files of a folder, in float64."""
    found = {}
    for file in [path] if path.is_file() else sorted(path.glob("*.safetensors")):
        raw = file.read_bytes()
        start = 8 + struct.unpack("<Q", raw[:8])[0]
        for name, entry in json.loads(raw[8:start]).items():
            if name != "__metadata__":
                first, end = (start + offset for offset in entry["data_offsets"])
                if entry["dtype"] == "F32":
                    values = np.frombuffer(raw[first:end], "<f4")
                else:
                    values = (np.frombuffer(raw[first:end], "<u2").astype("<u4") << 16).view("<f4")
                found[name] = values.astype("f8").reshape(entry["shape"])
    return found


def a_base(folder: Path, dtype: str = "F32", files: int = 1, **config: Any) -> Path:
    """A base with random values; one that ties its output layer stores it once."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**kinds.CONFIG, **config}))
    (folder / "tokenizer.json").write_text("{}")
    source = np.random.default_rng(3)
    tied = bool(config.get("tie_word_embeddings"))
    shapes = {name: shape for name, shape in kinds.BASE.items() if not (tied and "lm_head" in name)}
    every = {
        name: (dtype, shape, coded(source.normal(0, 0.1, shape), dtype)) for name, shape in shapes.items()
    }
    if files == 1:
        (folder / base_model.SINGLE).write_bytes(safetensors(every))
        return folder
    table = {name: f"part-{number % files}.safetensors" for number, name in enumerate(every)}
    for file in set(table.values()):
        (folder / file).write_bytes(safetensors({n: one for n, one in every.items() if table[n] == file}))
    (folder / base_model.INDEX).write_text(json.dumps({"weight_map": table}))
    return folder


def turned_dora(c: Checkpoint) -> None:
    kinds.turned(c)
    c.config["use_dora"] = True
    for n in range(3):
        c.put(f"{START}model.layers.{n}.self_attn.o_proj.lora_magnitude_vector", (64,))


def wider(c: Checkpoint) -> None:
    """One module's rank is larger than that of all others, and no value that vLLM takes."""
    c.config["rank_pattern"] = {"layers.2.self_attn.o_proj": 12}
    c.add("model.layers.2.self_attn.o_proj", (64, 64), 12)


def an_adapter(folder: Path, change: Callable[[Checkpoint], None], dtype: str = "F32") -> Checkpoint:
    checkpoint = Checkpoint(folder / "run" / "checkpoint-20", dtype=dtype)
    checkpoint.config["base_model_name_or_path"] = str(folder / "base")
    change(checkpoint)
    return checkpoint.write()


def expected(base: Arrays, adapter: Arrays, kind: str) -> Arrays:
    """base + adapter, as PEFT's own formulas say."""
    found = {}
    for name, old in base.items():
        module = START + name.rpartition(".")[0]
        a, b = (adapter.get(f"{module}.lora_{half}.weight") for half in "AB")
        scale = 8 / 4
        if kind == "rs":
            scale = 8 / 4**0.5
        if kind == "patterns":
            scale = {"kv_b_proj": 32 / 4}.get(module.rpartition(".")[2], scale)
            scale = 8 / 2 if module.endswith("layers.1.self_attn.o_proj") else scale
        if kind == "wider":
            scale = 8 / 12 if module.endswith("layers.2.self_attn.o_proj") else scale
        new = old
        if a is not None and name.endswith(".weight"):
            added = scale * (b @ a)
            new = old + (added.T if kind.startswith("turned") else added)
        magnitude = adapter.get(f"{module}.lora_magnitude_vector")
        if magnitude is not None and name.endswith(".weight"):  # an output is a column if it is turned
            norms = np.linalg.norm(new, axis=0 if kind == "turned_dora" else 1, keepdims=True)
            new = new * (magnitude.reshape(norms.shape) / norms)
        if f"{module}.lora_embedding_A" in adapter:
            new = (
                old
                + scale * (adapter[f"{module}.lora_embedding_B"] @ adapter[f"{module}.lora_embedding_A"]).T
            )
        if f"{module}.lora_B.bias" in adapter and name.endswith(".bias"):
            new = old + scale * adapter[f"{module}.lora_B.bias"]
        found[name] = adapter.get(START + name, new)
    if kind == "fused":
        add_experts(found, adapter, 8 / 4)
    return found


def add_experts(found: Arrays, adapter: Arrays, scale: float) -> None:
    """Expert n has rows n·r to (n+1)·r of A and every second column of B; gate and up lie in one matrix, turned."""
    for n in range(2):
        place = f"{kinds.EXPERTS}.{n}"
        a, b = (adapter[f"{START}{kinds.EXPERTS}.base_layer.lora_{half}.weight"] for half in "AB")
        both = scale * (b[:, n::2] @ a[n * 4 : n * 4 + 4]).T
        found[f"{place}.gate_proj.weight"] = found[f"{place}.gate_proj.weight"] + both[:32]
        found[f"{place}.up_proj.weight"] = found[f"{place}.up_proj.weight"] + both[32:]
        a, b = (adapter[f"{START}{kinds.EXPERTS}.lora_{half}.weight"] for half in "AB")
        down = scale * (b[:, n::2] @ a[n * 4 : n * 4 + 4])
        found[f"{place}.down_proj.weight"] = found[f"{place}.down_proj.weight"] + down


def agree(found: Arrays, wanted: Arrays, relative: float) -> None:
    assert found.keys() == wanted.keys()
    for name, values in found.items():
        np.testing.assert_allclose(values, wanted[name], rtol=relative, atol=0, err_msg=name)


def keep(label: str, answer: dict[str, Any], folder: Path) -> None:
    """The answer's findings, whole."""
    lines = [f"{label}: {one['id']}: {one.get('saw')} | {one.get('expected')}" for one in answer["findings"]]
    said.hold(SAID, [line.replace(str(folder), "") for line in lines])


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
@pytest.mark.parametrize("change", [*kinds.MERGED, turned_dora, wider], ids=lambda one: one.__name__)
def test_merged_values_are_the_nearest_to_base_and_adapter(
    change: Callable[[Checkpoint], None], dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of a few rows, the last one smaller than the others."""
    monkeypatch.setattr(merging, "BLOCK_VALUES", 64 * 23)
    base, adapter = a_base(tmp_path / "base", dtype), an_adapter(tmp_path, change, dtype)
    before, trained = written(base), written(adapter.weights)
    answer = export(str(adapter.path), str(tmp_path / "out"), base=str(base), compared=False)
    assert answer["path"], answer
    wanted = expected(before, trained, change.__name__)
    found = written(tmp_path / "out")
    agree(found, wanted, 2.0**-24 * 1.001 if dtype == "F32" else 2.0**-8 * 1.001)
    changed = {name for name in before if not np.array_equal(before[name], wanted[name])}
    assert changed and (answer["tensors_changed"], answer["tensors_as_in_base"]) == (
        len(changed), len(before) - len(changed),
    )  # fmt: skip
    off = sum(((found[name] - wanted[name]) ** 2).sum() for name in changed) ** 0.5
    size = sum(((wanted[name] - before[name]) ** 2).sum() for name in changed) ** 0.5
    assert answer["lost"] == pytest.approx(off / size, rel=1e-6)
    keep(change.__name__, answer, tmp_path)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "model.safetensors", "config.json", "tokenizer.json", "allranks-export.json",
    }  # fmt: skip


def test_experts_in_one_tensor_on_disk_change_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[experts, rows, columns]: blocks that end inside an expert, and in the middle of another."""
    name, experts, rows, columns, rank = "model.layers.1.mlp.experts.down_proj", 3, 8, 6, 4
    monkeypatch.setattr(merging, "BLOCK_VALUES", 5 * columns)
    monkeypatch.setattr(kinds, "BASE", {name: (experts, rows, columns), "model.norm.weight": (64,)})
    checkpoint = Checkpoint(tmp_path / "run" / "checkpoint-20", dtype="F32", layers=0)
    checkpoint.config["base_model_name_or_path"] = str(tmp_path / "base")
    checkpoint.config.update(target_modules=[], target_parameters=["mlp.experts.down_proj"])
    checkpoint.put(f"{START}{kinds.EXPERTS}.lora_A.weight", (experts * rank, rows))
    checkpoint.put(f"{START}{kinds.EXPERTS}.lora_B.weight", (columns, experts * rank))
    checkpoint.write()
    base = a_base(tmp_path / "base")
    answer = export(str(checkpoint.path), str(tmp_path / "out"), base=str(base), compared=False)
    assert answer["path"], answer
    before, trained = written(base), written(checkpoint.weights)
    a, b = (trained[f"{START}{kinds.EXPERTS}.lora_{half}.weight"] for half in "AB")
    added = [2 * (b[:, n::experts] @ a[n * rank : (n + 1) * rank]).T for n in range(experts)]
    agree(written(tmp_path / "out"), {**before, name: before[name] + np.stack(added)}, 2.0**-24 * 1.001)


@pytest.mark.parametrize("files", [1, 2])
def test_what_was_tied_is_written_apart(files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedding changes and the output layer, which was stored once with it, keeps its values."""
    monkeypatch.setattr(merging, "COPY_BYTES", 1000)
    monkeypatch.setattr(proving, "COPY_BYTES", 999)
    base = a_base(tmp_path / "base", "F32", files, tie_word_embeddings=True)
    adapter = an_adapter(tmp_path, kinds.embedding)
    answer = export(str(adapter.path), str(tmp_path / "out"), base=str(base), compared=False)
    before = written(base)
    wanted = expected(before, written(adapter.weights), "embedding")
    wanted["lm_head.weight"] = before["model.embed_tokens.weight"]
    agree(written(tmp_path / "out"), wanted, 2.0**-24 * 1.001)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tie_word_embeddings"] is False
    index = json.loads((tmp_path / "out" / base_model.INDEX).read_text())
    assert index["metadata"]["total_size"] == 4 * sum(one.size for one in wanted.values())
    for file in set(index["weight_map"].values()):
        there = {name for name, place in index["weight_map"].items() if place == file}
        assert written(tmp_path / "out" / file).keys() == there
    keep(f"tied, {files} files", answer, tmp_path)


# ---- the proof ----


@pytest.fixture
def merged(tmp_path: Path) -> Iterator[tuple[merging.Merge, Path, dict[str, Any]]]:
    """(a merge, the folder that it filled, read_back's other words)."""
    base, checkpoint = a_base(tmp_path / "base", "BF16"), an_adapter(tmp_path, kinds.lora, "BF16")
    adapter, raw, folder = exporting._adapter(str(checkpoint.path))
    model = base_model.read(str(base))
    table = edits.plan(adapter, raw, model, folder)
    (tmp_path / "out").mkdir()
    merge = merging.Merge(model, str(checkpoint.weights), table, {})
    words = {"files": {base_model.SINGLE: "merged.safetensors"}, "extra": None}
    with merge:
        merging.write(merge, str(tmp_path / "out"), words["files"], None)
        yield merge, tmp_path / "out", words


def damage(file: Path, tensor: Any, value: int, change: Callable[[int], int]) -> None:
    """Another bfloat16 in place of one."""
    raw = bytearray(file.read_bytes())
    place = tensor.begin + 2 * value
    raw[place : place + 2] = struct.pack("<H", change(*struct.unpack("<H", raw[place : place + 2])))
    file.write_bytes(bytes(raw))


CHANGED, UNCHANGED = "model.layers.2.self_attn.o_proj.weight", "model.norm.weight"


def test_the_proof_finds_nothing_in_what_was_written(merged: Any) -> None:
    merge, folder, words = merged
    assert proving.read_back(merge, str(folder), **words) == (len(kinds.BASE) - 15, 15, [])


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (CHANGED, lambda bits: bits + 1, "units in the last place from base + adapter"),
        (CHANGED, lambda bits: bits - 1, "units in the last place from base + adapter"),
        (CHANGED, lambda bits: 0x7FC0, "is inf units in the last place"),
        (CHANGED, lambda bits: 0x7F80, "is inf units in the last place"),
        (UNCHANGED, lambda bits: bits ^ 1, "is not the base's"),
    ],
)
@pytest.mark.parametrize("value", [0, 63])
def test_one_other_value_is_found(name: str, change: Any, says: str, value: int, merged: Any) -> None:
    merge, folder, words = merged
    damage(folder / "merged.safetensors", merge.place(name)[1], value, change)
    _, _, wrong = proving.read_back(merge, str(folder), **words)
    assert len(wrong) == 1 and wrong[0].startswith(name) and says in wrong[0], wrong
    if "from" in says:
        assert 0.5 < float(wrong[0].split(" is ")[1].split()[0]) < 1.5


def test_a_tensor_of_another_shape_and_one_that_is_missing_are_found(merged: Any) -> None:
    merge, folder, words = merged
    file = folder / "merged.safetensors"
    raw = file.read_bytes()
    entries = {}
    for name, place in merge.base.places.items():
        tensor = place.tensor
        entries[name] = (tensor.dtype, tensor.shape, raw[tensor.begin : tensor.end])
    dtype, _, data = entries[UNCHANGED]
    file.write_bytes(safetensors({**entries, UNCHANGED: (dtype, (8, 8), data)}))
    same, changed, wrong = proving.read_back(merge, str(folder), **words)
    assert (same, changed, wrong) == (len(entries) - 16, 15, [f"{UNCHANGED} has another type or shape"])
    del entries[UNCHANGED]
    file.write_bytes(safetensors(entries))
    *_, wrong = proving.read_back(merge, str(folder), **words)
    assert wrong == [f"{len(entries)} of {len(entries) + 1} tensors were written"]


def test_an_empty_tensor_and_the_end_of_a_file(tmp_path: Path) -> None:
    base = tmp_path / "model.safetensors"
    base.write_bytes(safetensors({"none": ("F32", (0, 4), b""), "some": ("F32", (2, 2), bytes(range(16)))}))
    tensors = {one.name: one for one in proving.tensors_of(str(base))}
    with base.open("rb") as file:
        assert merging.rows_of(file.fileno(), tensors["none"], 0, 0, 4).shape == (0, 4)
        row = merging.rows_of(file.fileno(), tensors["some"], 1, 2, 2)
        assert row.numpy().tobytes() == bytes(range(8, 16))
        with pytest.raises(OSError, match="some ended while it was read"):
            merging.rows_of(file.fileno(), tensors["some"], 1, 3, 2)


# ---- the outputs ----


class Answers:
    """In place of a model: the same logits whatever it is asked."""

    def __init__(self, logits: Any):
        self.config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(vocab_size=11))
        self.logits, self.asked = logits, []

    def __call__(self, input_ids: Any) -> Any:
        self.asked.append(input_ids)
        return SimpleNamespace(logits=self.logits)

    def eval(self) -> Answers:
        return self


def test_outputs_are_compared_relative_to_those_of_base_and_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    base, both, merged = (Answers(torch.tensor(one)) for one in (
        [[1.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [4.5, 4.0]]))  # fmt: skip
    made = SimpleNamespace(PeftModel=SimpleNamespace(from_pretrained=lambda model, path, is_trainable: both))
    monkeypatch.setitem(sys.modules, "peft", made)
    monkeypatch.setattr(proving, "load", {"base": base, "merged": merged}.get)
    assert proving.compare("base", "adapter", "merged", "BF16") == {
        "difference": 4.5 / 5, "effect": 2 / 5, "tolerance": 4e-2, "same_choice": 0.5,
    }  # fmt: skip
    asked = base.asked[0]
    assert (
        asked.shape == (2, 24) and torch.equal(asked, both.asked[0]) and torch.equal(asked, merged.asked[0])
    )
    assert int(asked.min()) >= 0 and int(asked.max()) <= 10


@pytest.mark.parametrize(("wrong", "difference"), [(2, 0.0), (4, 0.9)])
def test_positions_that_are_sent_to_other_experts_do_not_count(
    wrong: int, difference: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    right = torch.tensor([[[3.0, 4.0]] * 24])
    other = right.clone()
    other[0, :wrong, 0] += 4.5
    models = {"base": Answers(right), "merged": Answers(other)}
    models["base"].config.get_text_config = lambda: SimpleNamespace(vocab_size=11, n_routed_experts=8)
    made = SimpleNamespace(
        PeftModel=SimpleNamespace(from_pretrained=lambda model, path, is_trainable: Answers(right))
    )
    monkeypatch.setitem(sys.modules, "peft", made)
    monkeypatch.setattr(proving, "load", models.get)
    assert proving.compare("base", "adapter", "merged", "BF16")["difference"] == pytest.approx(difference)


ABOUT = {"difference": 0.0125, "effect": 0.25, "tolerance": 0.04, "same_choice": 1.0}


def judged(tmp_path: Path, outcome: Any, monkeypatch: pytest.MonkeyPatch, **words: Any) -> dict[str, Any]:
    def compare(*_: Any) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return {**ABOUT, **outcome}

    monkeypatch.setattr(proving, "compare", compare)
    base, adapter = a_base(tmp_path / "base"), an_adapter(tmp_path, kinds.lora)
    return export(str(adapter.path), str(tmp_path / "out"), base=str(base), **words)


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("as far as allowed", {"difference": 0.04}, {}),
        ("too far", {"difference": 0.041}, {}),
        ("no number", {"difference": float("nan")}, {}),
        ("no library", ImportError("no transformers"), {}),
        ("no library though asked", ImportError("no transformers"), {"compared": True}),
        ("not asked", {}, {"compared": False}),
    ],
)
def test_what_comparing_says(
    name: str, outcome: Any, words: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "memory_available", lambda: 1 << 40)
    answer = judged(tmp_path, outcome, monkeypatch, **words)
    keep(name, answer, tmp_path)
    refused = name in ("too far", "no number", "no library though asked")
    assert (answer["path"] is None) is refused and (tmp_path / "out").exists() is not refused
    if not refused:
        assert (answer["outputs"] is None) is (name in ("no library", "not asked"))


@pytest.mark.parametrize("more", [0, -1])
def test_outputs_are_compared_if_both_models_fit_into_half_of_the_memory(
    more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = sum(int(np.prod(shape)) for shape in kinds.BASE.values())
    monkeypatch.setattr(exporting, "memory_available", lambda: values * 4 * 2 + more)
    answer = judged(tmp_path, {}, monkeypatch)
    assert (answer["outputs"] is None) is bool(more)
    if more:
        keep("memory", answer, tmp_path)


@pytest.mark.parametrize(("size", "warns"), [(0.002, True), (0.5, False)])
def test_an_adapter_that_rounding_takes_away_is_told(size: float, warns: bool, tmp_path: Path) -> None:
    """bfloat16 keeps 8 bits: steps of 2^-11 at 0.1. What changes less than that is mostly lost."""

    def small(c: Checkpoint) -> None:
        for name, (dtype, shape, data) in c.tensors.items():
            values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
            c.tensors[name] = (dtype, shape, coded(values * (size if "lora_B" in name else 1), "BF16"))

    base, adapter = a_base(tmp_path / "base", "BF16"), an_adapter(tmp_path, small, "BF16")
    answer = export(str(adapter.path), str(tmp_path / "out"), base=str(base), compared=False)
    assert (answer["lost"] > 0.5) is warns
    assert ("export-rounded" in [one["id"] for one in answer["findings"]]) is warns


# ---- for vLLM ----


FOR_VLLM = (kinds.lora, kinds.rs, kinds.patterns, kinds.fused, wider)


@pytest.mark.parametrize("change", FOR_VLLM, ids=lambda one: one.__name__)
def test_what_vllm_reads_adds_the_same(change: Callable[[Checkpoint], None], tmp_path: Path) -> None:
    """One rank and one scale for all modules, as vLLM multiplies them: alpha / r, or alpha / √r."""
    base, adapter = a_base(tmp_path / "base"), an_adapter(tmp_path, change)
    answer = export(str(adapter.path), str(tmp_path / "out"), base=str(base), form="vllm", most_rank=12)
    found, before = written(tmp_path / "out"), written(base)
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["rank_pattern"] == config["alpha_pattern"] == {}
    scale = config["lora_alpha"] / (config["r"] ** (0.5 if config["use_rslora"] else 1))
    wanted = expected(before, written(adapter.weights), change.__name__)
    names = {name.rpartition(".lora_")[0].removeprefix(START) for name in found}
    assert {f"{name}.weight" for name in names} == {
        n for n in before if not np.array_equal(before[n], wanted[n])
    }
    for name in names:
        a, b = (found[f"{START}{name}.lora_{half}.weight"] for half in "AB")
        assert a.shape[0] == b.shape[1] == config["r"]
        added = wanted[f"{name}.weight"] - before[f"{name}.weight"]
        np.testing.assert_allclose(scale * (b @ a), added, rtol=1e-5, atol=1e-7)
    keep(f"{change.__name__} for vLLM", answer, tmp_path)
    said.hold(SAID, [f"{change.__name__} for vLLM: {json.dumps({**config, 'base_model_name_or_path': ''})}"])


@pytest.mark.parametrize(
    ("rank", "needed"),
    [
        (1, 1),
        (2, 8),
        (8, 8),
        (9, 16),
        (17, 32),
        (64, 64),
        (65, 128),
        (256, 256),
        (257, 320),
        (320, 320),
        (321, 512),
    ],
)
def test_the_rank_that_vllm_is_asked_for(rank: int, needed: int) -> None:
    """`MaxLoRARanks` of vLLM: 1, 8, 16, 32, 64, 128, 256, 320 and 512."""
    adapter = SimpleNamespace(config=SimpleNamespace(rank=1, rank_pattern={"o_proj": rank}))
    assert serving.needed_rank(adapter) == needed


def test_a_rank_that_no_server_takes_is_refused_whatever_is_allowed() -> None:
    config = SimpleNamespace(rank=600, rank_pattern={}, dora=False, bias="none")
    adapter: Any = SimpleNamespace(config=config, others=[], modules={})
    for most in (None, 512, 1024):
        findings = serving.refusals(adapter, {}, most, "adapter")
        assert [(one.id, one.expected) for one in findings] == [("export-vllm-rank", "at most 512")]


def test_how_far_a_conversion_is_off(tmp_path: Path) -> None:
    """In units of what the module adds; one value of B that is half as large again."""
    base, checkpoint = a_base(tmp_path / "base"), an_adapter(tmp_path, kinds.lora)
    adapter, raw, _ = exporting._adapter(str(checkpoint.path))
    made = serving.pairs(adapter, raw, base_model.read(str(base)), "adapter")[:1]
    old = proving.tensors_of(str(checkpoint.weights))
    words = {"rank": 4, "scale": 2.0}
    weights = str(checkpoint.weights)
    assert serving.furthest(made, weights, old, weights, **words) == 0
    a, b = (written(checkpoint.weights)[f"{START}{made[0].name}.lora_{half}.weight"] for half in "AB")
    other = tmp_path / "other.safetensors"
    tensors = dict(checkpoint.tensors)
    name = f"{START}{made[0].name}.lora_B.weight"
    changed = b.copy()
    changed[3, 1] *= 1.5
    tensors[name] = ("F32", tensors[name][1], coded(changed, "F32"))
    other.write_bytes(safetensors(tensors))
    off = serving.furthest(made, weights, proving.tensors_of(str(other)), str(other), **words)
    wanted = np.linalg.norm(changed - b) * np.linalg.norm(a) / np.linalg.norm(b @ a)
    assert off == pytest.approx(wanted, rel=1e-5)


def test_half_a_step_is_the_most_a_conversion_may_be_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (worst, path) in enumerate(((2.0**-7, True), (2.0**-7 * 1.01, False), (float("nan"), False))):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.setattr(serving, "furthest", lambda *_, worst=worst: worst)
        adapter = an_adapter(folder, kinds.lora)
        answer = export(str(adapter.path), str(folder / "out"), form="vllm")
        assert bool(answer["path"]) is path
        keep(f"off by {worst:.3g}", answer, folder)


def test_two_exports_to_one_target_leave_each_other_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with export_folder.Growing(str(target)) as first:
        Path(first.path, "model.safetensors").write_bytes(b"first")
        with export_folder.Growing(str(target)) as second:
            Path(second.path, "model.safetensors").write_bytes(b"half")
            first.keep({})
            with pytest.raises(export_folder.Refused) as refused:
                second.keep({})
            assert [one.id for one in refused.value.findings] == ["export-exists"]
    assert (target / "model.safetensors").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_export_that_broke_off_is_begun_anew(tmp_path: Path) -> None:
    base, adapter = a_base(tmp_path / "base"), an_adapter(tmp_path, kinds.lora)
    halves = [tmp_path / f"{export_folder.EXPORTING}out{end}" for end in ("", "-abcdefg_")]
    for half in halves:
        half.mkdir()
        (half / "left").write_text("from before")
    answer = export(str(adapter.path), str(tmp_path / "out"), base=str(base), compared=False)
    assert (
        answer["path"]
        and not any(half.exists() for half in halves)
        and not (tmp_path / "out" / "left").exists()
    )
    again = export(str(adapter.path), str(tmp_path / "out"), base=str(base), compared=False)
    keep("again", again, tmp_path)
    assert again["path"] is None
    about = json.loads((tmp_path / "out" / export_folder.EXPORT).read_text())
    assert about["adapter"]["step"] == 20 and about["files"].keys() == {
        "model.safetensors", "config.json", "tokenizer.json",
    }  # fmt: skip
