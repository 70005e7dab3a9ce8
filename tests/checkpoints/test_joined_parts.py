"""The second reading of DeepSpeed's ranks' files, and what is written of it, with ranks that nobody trained. torch
alone, in this process: that DeepSpeed writes such files is the matter of test_deepspeed_weights.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.checkpoints import base_model
from allranks.checkpoints import deepspeed_weights as weights
from allranks.checkpoints.base_model import Refused
from allranks.checkpoints.export import export
from tests import said

pytestmark = pytest.mark.tensors

SAID = Path(__file__).parent / "said" / "test_joined_parts.txt"
RANKS = 3
SHAPES = ({"a.weight": (5, 7), "a.bias": (5,)}, {"b.weight": (2, 2)})
"""Two groups of parameters; 3 ranks divide none of 35, 5 and 4."""
FROZEN = {"f.weight": (3, 5)}


def values(name: str, shape: tuple[int, ...]) -> Any:
    import torch

    count = int(torch.Size(shape).numel())
    return (torch.arange(count, dtype=torch.float32) + 100 * len(name)).reshape(shape) / 7


def truth() -> dict[str, Any]:
    """What DeepSpeed's converter should say: `tied` is `a.weight`, `steps` a buffer."""
    import torch

    shapes = {name: shape for group in (*SHAPES, FROZEN) for name, shape in group.items()}
    state = {name: values(name, shape) for name, shape in shapes.items()}
    return {**state, "steps": torch.arange(3.0), "tied": state["a.weight"]}


def split(tensor: Any, fill: float = -1.0) -> list[Any]:
    """ceil(n / ranks) values for each rank; the last one's are filled up."""
    import torch

    each = -(-tensor.numel() // RANKS)
    padded = torch.cat([tensor.flatten(), torch.full((each * RANKS - tensor.numel(),), fill)])
    return list(padded.split(each))


def model_states(stage: int) -> list[dict[str, Any]]:
    import torch

    frozen = {name: split(values(name, shape)) for name, shape in FROZEN.items()}
    return [
        {
            "param_shapes": [{name: torch.Size(shape) for name, shape in group.items()} for group in SHAPES],
            "frozen_param_shapes": {name: torch.Size(shape) for name, shape in FROZEN.items()},
            "frozen_param_fragments": {
                name: parts[rank] if stage == 3 else values(name, FROZEN[name])
                for name, parts in frozen.items()
            },
            "buffer_names": ["steps"],
            "module": {"steps": torch.arange(3.0)},
            "shared_params": {"tied": "a.weight"},
            "dp_world_size": RANKS,
            "global_steps": 500,
        }
        for rank in range(RANKS if stage == 3 else 1)
    ]


def optim_states(stage: int) -> list[dict[str, Any]]:
    """Stage 3: each parameter is split over all ranks. Stage 2: a group is one long row, cut into equal parts."""
    import torch

    if stage == 3:
        parts = [split(values(name, shape)) for group in SHAPES for name, shape in group.items()]
        return [
            {
                "zero_stage": 3,
                "fp32_flat_groups": [torch.cat([one[rank] for one in parts[:2]]), parts[2][rank]],
            }
            for rank in range(RANKS)
        ]
    found: list[dict[str, Any]] = [
        {"zero_stage": 2, "single_partition_of_fp32_groups": [], "param_slice_mappings": []}
        for _ in range(RANKS)
    ]
    for group in SHAPES:
        flat = torch.cat([values(name, shape).flatten() for name, shape in group.items()])
        rows = split(flat)
        for rank, one in enumerate(found):
            one["single_partition_of_fp32_groups"].append(rows[rank])
            low, table, begin = rank * len(rows[0]), {}, 0
            for name, shape in group.items():
                end = begin + torch.Size(shape).numel()
                first, last = max(begin, low), min(end, low + len(rows[0]))
                if first < last:
                    table[name] = SimpleNamespace(start=first - low, numel=last - first)
                begin = end
            one["param_slice_mappings"].append(table)
    return found


def parts_of(stage: int) -> weights.Parts:
    return weights.Parts(optim_states(stage), model_states(stage))


@pytest.mark.parametrize("stage", [2, 3])
def test_each_parameter_is_put_together_from_the_ranks_parts(stage: int) -> None:
    assert weights.differences(truth(), parts_of(stage), "/tag") == (4, 1, [])


@pytest.mark.parametrize("stage", [2, 3])
def test_what_a_converter_may_do_wrong_is_named(stage: int) -> None:
    import torch

    right = truth()
    wrong = {
        "one bit": {**right, "a.bias": right["a.bias"] + torch.tensor([0, 0, 0, 0, 1e-5])},
        "its first value": {**right, "b.weight": right["b.weight"] * torch.tensor([[2, 1], [1, 1]])},
        "turned": {**right, "a.weight": right["a.weight"].T},
        "frozen": {**right, "f.weight": right["f.weight"] * 2},
        "buffer": {**right, "steps": right["steps"] + 1},
        "untied": {**right, "tied": right["tied"] + 1},
        "too many": {**right, "more": right["a.bias"]},
        "too few": {name: value for name, value in right.items() if name not in ("a.weight", "f.weight")},
        "without buffers": {name: value for name, value in right.items() if name not in ("steps", "tied")},
    }
    for name, state in wrong.items():
        compared, buffers, told = weights.differences(state, parts_of(stage), "/tag")
        assert bool(told) is (name != "without buffers")
        said.hold(SAID, [f"{name}: {compared} and {buffers}: {'; '.join(told)}"])


def test_not_a_number_is_itself_and_another_type_is_not_other_values() -> None:
    import torch

    numbers = torch.tensor([1.0, float("nan"), -0.0])
    assert weights.same(numbers, numbers.clone())
    assert weights.same(torch.tensor([1.5, 2.0]), torch.tensor([1.5, 2.0], dtype=torch.bfloat16))
    assert not weights.same(numbers, torch.tensor([1.0, float("nan"), 0.0]))
    assert weights.same(numbers.reshape(1, 3).T, numbers.reshape(3, 1))


def test_parts_that_are_too_short_and_parts_of_nobody() -> None:
    short = parts_of(3)
    for one in short.optim:
        one["fp32_flat_groups"] = [flat[:-1] for flat in one["fp32_flat_groups"]]
    assert "b.weight has another shape than (2, 2)" in weights.differences(truth(), short, "/tag")[2]
    nobody = parts_of(2)
    for one in nobody.optim:
        one["param_slice_mappings"][1].pop("b.weight", None)
    with pytest.raises(Refused, match=r"no rank has a part of b\.weight"):
        weights.differences(truth(), nobody, "/tag")


# ---- written ----


@pytest.mark.parametrize(
    ("most", "files"), [(1 << 30, 1), (40 * 4, 2), (40 * 4 - 1, 2), (18 * 4, 3), (18 * 4 - 1, 4)]
)
def test_a_file_is_as_large_as_it_may_be(
    most: int, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """35, 5, 4, 15 and 3 values, of 4 bytes each, and the 35 again."""
    monkeypatch.setattr(weights, "SHARD_BYTES", most)
    state = {name: value for name, value in truth().items() if name != "tied"}
    table = weights.write(state, str(tmp_path))
    assert [name for names in table.values() for name in names] == list(state) and len(table) == files
    assert weights.unlike(state, str(tmp_path), table) == []
    index = tmp_path / base_model.INDEX
    assert index.exists() is (files > 1)
    if files > 1:
        told = json.loads(index.read_text())
        assert told["metadata"]["total_size"] == 62 * 4
        assert told["weight_map"] == {name: file for file, names in table.items() for name in names}
    said.hold(SAID, [f"{most} bytes: {json.dumps(table)}"])
    other = {**state, "a.bias": state["a.bias"] + 1}
    assert weights.unlike(other, str(tmp_path), table) == ["a.bias reads back otherwise"]


# ---- a whole checkpoint ----


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one tag of ZeRO-3, as DeepSpeed writes it."""
    import torch

    folder = tmp_path / "run" / "global_step500"
    folder.mkdir(parents=True)
    (folder.parent / "latest").write_text("global_step500")
    for rank, (optim, model) in enumerate(zip(optim_states(3), model_states(3), strict=True)):
        start = f"zero_pp_rank_{rank}_mp_rank_00"
        about = {"dp_world_size": RANKS, "global_steps": 500}
        torch.save({"optimizer_state_dict": optim, **about}, folder / f"bf16_{start}_optim_states.pt")
        torch.save({**model, **about}, folder / f"{start}_model_states.pt")
    monkeypatch.setattr(weights, "KNOWN", (("nowhere.at.all", "Thing"), ("pathlib", "NoSuchClass")))
    return folder


def converter(outcome: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """In place of DeepSpeed's; what it was asked."""
    asked: list[Any] = []

    def convert(*given: Any) -> Any:
        asked.append(given)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    module = SimpleNamespace(get_fp32_state_dict_from_zero_checkpoint=convert)
    for name in ("deepspeed", "deepspeed.utils"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, "deepspeed.utils.zero_to_fp32", module)
    return asked


def told(answer: dict[str, Any], folder: Path) -> list[str]:
    found = [(one["id"], one["saw"], one.get("evidence")) for one in answer["findings"]]
    return [f"{name}: {saw} {evidence or ''}".replace(str(folder), "") for name, saw, evidence in found]


@pytest.mark.parametrize("place", [".", "global_step500"])
def test_weights_are_exported_and_described(
    place: str, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    load = torch.load
    asked = converter(truth(), monkeypatch)
    answer = export(str(saved.parent / place), str(tmp_path / "out"), form="weights")
    assert answer["proof"] == {"parameters": 4, "buffers": 1, "files": 1}, answer
    assert asked == [(str(saved.parent), "global_step500")] and torch.load is load
    from safetensors.torch import load_file

    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found.keys() == truth().keys() and all(torch.equal(found[name], truth()[name]) for name in found)
    said.hold(SAID, told(answer, tmp_path))
    again = export(str(saved), str(tmp_path / "out"), form="weights")
    said.hold(SAID, told(again, tmp_path))
    assert again["path"] is None


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("wrong", "values"), ("many", "names"), ("nothing", None), ("refuses", ValueError("x" * 400)),
        ("breaks", KeyError("module")), ("without", ImportError("no deepspeed")),
    ],
)  # fmt: skip
def test_nothing_is_left_if_the_joined_weights_are_wrong(
    name: str, outcome: Any, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if outcome == "values":
        outcome = {**truth(), "a.bias": truth()["a.bias"] + 1}
    elif outcome == "names":
        outcome = {**truth(), **{f"more.{number:02}": truth()["a.bias"] for number in range(25)}}
    converter(outcome, monkeypatch)
    answer = export(str(saved), str(tmp_path / "out"), form="weights")
    assert answer["path"] is None and not (tmp_path / "out").exists()
    said.hold(SAID, [f"{name}: {line}" for line in told(answer, tmp_path)])


def test_weights_that_read_back_otherwise_are_not_kept(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converter(truth(), monkeypatch)
    monkeypatch.setattr(
        weights, "unlike", lambda *_: [f"{number} reads back otherwise" for number in range(25)]
    )
    answer = export(str(saved), str(tmp_path / "out"), form="weights")
    assert answer["path"] is None and not (tmp_path / "out").exists()
    said.hold(SAID, [f"read back: {line}" for line in told(answer, tmp_path)])


class Hostile:
    def __init__(self, number: int):
        self.number = number

    def __reduce__(self) -> Any:
        return (os.system, os.getcwd, os.getpid, os.getppid, os.times, os.uname)[self.number], ()


def test_only_known_classes_are_made(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six strangers, of which five are named; one that is allowed by name; a load that asks for all is careful."""
    import torch

    converter(truth(), monkeypatch)
    name = saved / "zero_pp_rank_1_mp_rank_00_model_states.pt"
    held = torch.load(name)
    torch.save({**held, "args": SimpleNamespace(lr=1)}, name)
    refused = export(str(saved), str(tmp_path / "out"), form="weights")
    said.hold(SAID, [f"a stranger: {line}" for line in told(refused, tmp_path)])
    monkeypatch.setattr(weights, "KNOWN", (("types", "SimpleNamespace"),))
    assert export(str(saved), str(tmp_path / "out"), form="weights")["path"]
    torch.save({**held, "args": [Hostile(number) for number in range(6)]}, name)
    refused = export(str(saved), str(tmp_path / "more"), form="weights")
    assert refused["path"] is None
    said.hold(SAID, [f"strangers: {line}" for line in told(refused, tmp_path)])
    with weights.known_classes(str(saved.parent)), pytest.raises(Exception, match=r"(?i)weights.only"):
        torch.load(name, weights_only=False)


def test_files_come_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    names = [f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt" for rank in (0, 2, 10)]
    for name in [*reversed(names), "zero_pp_rank_1_mp_rank_00_optim_states.pt", "mp_rank_00.txt"]:
        (tmp_path / name).write_text("")
    assert [os.path.basename(one) for one in weights.files_of(str(tmp_path), "_model_states.pt")] == names
    assert len(weights.files_of(str(tmp_path))) == 4
    assert weights.rank_of("mp_rank_03_model_states.pt") == (0, "mp_rank_03_model_states.pt")


def test_a_place_without_ranks_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    for place in ("some", "nowhere"):
        answer = export(str(tmp_path / place), str(tmp_path / "out"), form="weights")
        said.hold(SAID, [f"{place}: {line}" for line in told(answer, tmp_path)])
        assert answer["path"] is None


def test_a_rank_that_is_missing_is_named(saved: Path, tmp_path: Path) -> None:
    (saved / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt").unlink()
    answer = export(str(saved), str(tmp_path / "out"), form="weights")
    assert answer["path"] is None
    said.hold(SAID, [f"missing: {line}" for line in told(answer, tmp_path)])
