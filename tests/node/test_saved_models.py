"""What a script saved in a run's folder: `clean` leaves and names it, unless it is told to remove models."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.node import paths, run_reader, saved_models, sweep

WORK = "nodes/node-0/work"
SAVES = {
    "a model of transformers": (
        f"{WORK}/out",
        ["model-00001-of-00002.safetensors", "config.json", "tokenizer.json"],
    ),
    "an old model of transformers": (f"{WORK}/out", ["pytorch_model.bin", "config.json"]),
    "an adapter in the output folder": ("output", ["adapter_model.safetensors", "adapter_config.json"]),
    "a checkpoint of a Trainer": (
        "output/checkpoint-20",
        ["model.safetensors", "optimizer.pt", "rng_state.pth"],
    ),
    "DeepSpeed": (
        f"{WORK}/ds/global_step5",
        ["mp_rank_00_model_states.pt", "zero_pp_rank_0_optim_states.pt"],
    ),
    "torch's distributed checkpoint": (f"{WORK}/dcp/step-5", [".metadata", "__0_0.distcp"]),
    "Lightning": (f"{WORK}/lightning_logs/version_0/checkpoints", ["epoch=0-step=10.ckpt"]),
    "torch.save": (f"{WORK}/snapshots", ["snapshot.pt"]),
    "torch.save, by an old name": (f"{WORK}/runs", ["model_best.pth.tar"]),
    "an upper-case name": (f"{WORK}/x", ["MODEL.PTH"]),
}


@pytest.fixture
def run(home: Path) -> paths.RunDirectory:
    """A run that has ended, with logs, a report and a script's own small files."""
    directory = paths.RunDirectory("r-ended")
    directory.create(node="node-0", keeper=True)
    paths.write_json(directory.keeper.state, {"state": "succeeded", "id": "r-ended"})
    for name in (
        "keeper/report.html",
        "keeper/journal.jsonl",
        f"{WORK}/notes.txt",
        "nodes/node-0/logs/rank-0.log",
    ):
        put(directory, name)
    return directory


def put(directory: paths.RunDirectory, name: str, text: str = "x") -> str:
    path = Path(directory.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def there(directory: paths.RunDirectory) -> set[str]:
    root = Path(directory.root)
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("what", SAVES)
def test_a_saved_model_stays_with_all_of_its_folder_and_is_named(run: paths.RunDirectory, what: str) -> None:
    folder, files = SAVES[what]
    for name in files:
        put(run, f"{folder}/{name}", "weights")

    answer = sweep.clean(run.run_id)

    assert [one["path"] for one in answer["models"]] == [os.path.join(run.root, folder)]
    assert answer["models"][0]["bytes"] == len("weights") * len(files)
    assert there(run) == {f"{folder}/{name}" for name in files} | saved_models.OWN
    assert (answer["removed"], answer["kept"]) == (None, [])


def test_with_models_all_of_it_goes(run: paths.RunDirectory) -> None:
    put(run, f"{WORK}/out/model.safetensors")
    answer = sweep.clean(run.run_id, with_models=True)
    assert answer["removed"] == run.root and len(answer["models"]) == 1
    assert not os.path.exists(run.root)


def test_what_was_left_can_be_cleaned_later(run: paths.RunDirectory) -> None:
    put(run, "output/adapter_model.safetensors")
    sweep.clean(run.run_id)
    assert run_reader.status(run.run_id)["state"] == "succeeded", (
        "it is still known to be ours, and to have ended"
    )
    assert sweep.clean(run.run_id, dry_run=True)["rest"] is False
    sweep.clean(run.run_id)
    assert os.path.exists(os.path.join(run.root, "output", "adapter_model.safetensors"))
    sweep.clean(run.run_id, with_models=True)
    assert not os.path.exists(run.root)


def test_a_dry_run_names_the_models_and_removes_nothing(run: paths.RunDirectory) -> None:
    put(run, f"{WORK}/out/model.safetensors")
    before = there(run)
    answer = sweep.clean(run.run_id, dry_run=True)
    assert [one["below"] for one in answer["models"]] == [f"{WORK}/out"] and answer["rest"] is True
    assert there(run) == before


def test_a_run_without_a_model_goes_as_a_whole(run: paths.RunDirectory) -> None:
    put(run, f"{WORK}/empty.pt", "")
    answer = sweep.clean(run.run_id)
    assert answer["models"] == [] and answer["removed"] == run.root and not os.path.exists(run.root)


def test_what_a_rank_said_that_it_saved_stays_whatever_it_is_called(
    run: paths.RunDirectory, tmp_path: Path
) -> None:
    saved, elsewhere = put(run, f"{WORK}/mine/weights.xyz"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    events = [
        {"kind": "saved", "data": {"path": os.path.dirname(saved), "step": 3}},
        {"kind": "saved", "data": {"path": str(elsewhere)}},
        {"kind": "saved", "data": {"path": run.root}},
        {"kind": "saved", "data": {"path": f"{run.root}/{WORK}/gone"}},
        {"kind": "saved", "data": {"path": None}},
        {"kind": "saved", "data": "saved"},
        ["saved"],
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events) + '{"kind": "saved\n'
    put(run, "nodes/node-0/ranks/rank-0.jsonl", lines)

    answer = sweep.clean(run.run_id)

    assert [one["below"] for one in answer["models"]] == [f"{WORK}/mine"]
    assert there(run) == {f"{WORK}/mine/weights.xyz"} | saved_models.OWN


def test_a_link_is_not_a_model_and_what_it_points_to_stays(run: paths.RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "model.safetensors").write_text("theirs")
    os.makedirs(os.path.join(run.root, WORK), exist_ok=True)
    os.symlink(tmp_path / "theirs", os.path.join(run.root, WORK, "out"))
    os.symlink(tmp_path / "theirs" / "model.safetensors", os.path.join(run.root, WORK, "model.safetensors"))

    answer = sweep.clean(run.run_id)

    assert answer["models"] == [] and not os.path.exists(run.root)
    assert (tmp_path / "theirs" / "model.safetensors").read_text() == "theirs"


def test_a_model_in_the_working_folder_itself_keeps_that_folder(run: paths.RunDirectory) -> None:
    put(run, f"{WORK}/model.pt")
    put(run, f"{WORK}/deeper/config.yaml")
    answer = sweep.clean(run.run_id)
    assert [one["below"] for one in answer["models"]] == [WORK]
    assert f"{WORK}/deeper/config.yaml" in there(run) and "nodes/node-0/logs/rank-0.log" not in there(run)


def test_a_folder_that_cannot_be_read_may_hold_a_model(
    run: paths.RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = put(run, "output/checkpoint-5/model.safetensors")
    scandir = os.scandir

    def failing(path: str) -> object:
        if path == os.path.dirname(model):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return scandir(path)

    with monkeypatch.context() as broken, pytest.raises(BadInput, match="checkpoint-5 cannot be read: Input"):
        broken.setattr(saved_models.os, "scandir", failing)
        sweep.clean(run.run_id)
    assert os.path.exists(model)
    assert [one["path"] for one in sweep.clean(run.run_id)["models"]] == [os.path.dirname(model)]
    assert os.path.exists(model)
