"""A save that is killed between any two operations leaves the old adapter, the new one, or what is refused."""

from __future__ import annotations

import os
import shutil

import pytest

from allranks import checkpoints
from allranks.worker import adapter_files

OPERATIONS = ("mkdir", "rename", "replace", "unlink", "fsync")


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it, and no operation after it takes place."""


def kill_at(monkeypatch, number: int):
    """Lets `number` operations on the disk happen, then none."""
    count = [0]

    def wrap(name):
        real = getattr(os, name)

        def operation(*args, **keys):
            count[0] += 1
            if count[0] > number:
                raise Killed(name)
            return real(*args, **keys)

        return operation

    for name in OPERATIONS:
        monkeypatch.setattr(os, name, wrap(name))
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **keys: None)
    return count


def write(checkpoint):
    """What PEFT does in the folder that it is given."""

    def into(folder: str) -> None:
        path, checkpoint.path = checkpoint.path, type(checkpoint.path)(folder)
        try:
            checkpoint.state, state = None, checkpoint.state
            checkpoint.write(manifest=False)
            (checkpoint.path / "README.md").write_text("card")
            checkpoint.state = state
        finally:
            checkpoint.path = path

    return into


def save(checkpoint) -> None:
    manifest = {"step": checkpoint.step, "world_size": 2, "base_model": "b", "targets": [], "versions": {}}
    adapter_files.write_whole(str(checkpoint.path), write(checkpoint), manifest)


def kill_everywhere(checkpoint, look) -> int:
    """Kills the save before its first, second, … operation, calling `look` after each; how many there were."""
    for number in range(1000):
        with pytest.MonkeyPatch.context() as patched:
            kill_at(patched, number)
            try:
                save(checkpoint)
                return number
            except Killed:
                pass
        look()
    raise AssertionError("the save never ended")


def test_a_new_checkpoint_appears_whole_or_not_at_all(checkpoint):
    def look():
        assert not checkpoint.path.exists() or checkpoints.verify(str(checkpoint.path)).whole
        for name in os.listdir(checkpoint.path.parent) if checkpoint.path.parent.exists() else ():
            if name.startswith("."):
                assert not checkpoints.verify(str(checkpoint.path.parent / name)).whole
                shutil.rmtree(checkpoint.path.parent / name)  # so that the next kill starts afresh
        if checkpoint.path.exists():
            shutil.rmtree(checkpoint.path)

    assert kill_everywhere(checkpoint, look) > 5


def test_over_an_old_adapter_there_is_never_half_of_each(make, run_folder):
    old = make(None, final=10, manifest=True)
    (run_folder / "trainer_state.json").unlink()
    before = (old.weights.read_bytes(), (run_folder / "adapter_config.json").read_bytes())
    new = make(None, final=20, dtype="F32")
    new.config["lora_alpha"] = 64
    (run_folder / "trainer_state.json").unlink()
    write(new)(str(run_folder.parent / "reference"))
    reference = run_folder.parent / "reference"
    after = tuple((reference / n).read_bytes() for n in ("adapter_model.safetensors", "adapter_config.json"))

    def restore():
        shutil.rmtree(run_folder)
        run_folder.mkdir()
        (run_folder / "adapter_model.safetensors").write_bytes(before[0])
        (run_folder / "adapter_config.json").write_bytes(before[1])
        old.state = None
        old.covered = ["adapter_model.safetensors", "adapter_config.json"]
        old.seal()

    def look():
        report = checkpoints.verify(str(run_folder))
        if report.whole:
            found = tuple(
                (run_folder / n).read_bytes() for n in ("adapter_model.safetensors", "adapter_config.json")
            )
            assert found in (before, after)
        restore()

    restore()
    assert checkpoints.verify(str(run_folder)).step == 10
    assert kill_everywhere(new, look) > 8
    report = checkpoints.verify(str(run_folder))
    assert (report.whole, report.step) == (True, 20)


def test_a_save_that_broke_off_is_no_obstacle_and_is_pruned(make, checkpoint, run_folder):
    with pytest.MonkeyPatch.context() as patched:
        kill_at(patched, 3)
        with pytest.raises(Killed):
            save(checkpoint)
    left = [name for name in os.listdir(run_folder) if name.startswith(".")]
    assert left == [".allranks-saving-checkpoint-20"]
    assert checkpoints.find(str(run_folder)) == []

    make(10, manifest=True)
    checkpoints.mark(str(run_folder), "r")
    assert checkpoints.prune(str(run_folder), 3).removed == ()  # it may be under way
    make(30, manifest=True)
    assert checkpoints.prune(str(run_folder), 3).removed == tuple(left)

    save(checkpoint)
    assert checkpoints.verify(str(checkpoint.path)).whole
    assert sorted(os.listdir(checkpoint.path)) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "allranks.json",
    ]  # fmt: skip


def test_a_failed_write_leaves_nothing_behind(checkpoint):
    def full(folder: str) -> None:
        (checkpoint.path.parent / "x").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        adapter_files.write_whole(str(checkpoint.path), full, {})

    assert os.listdir(checkpoint.path.parent) == ["x"]


def test_users_other_files_stay_and_the_manifest_covers_the_adapter_alone(checkpoint):
    checkpoint.path.mkdir(parents=True)
    (checkpoint.path / "notes.txt").write_text("mine")

    save(checkpoint)

    assert (checkpoint.path / "notes.txt").read_text() == "mine"
    (checkpoint.path / "README.md").write_text("a trainer writes it again")
    assert checkpoints.verify(str(checkpoint.path)).whole


def test_a_folder_that_another_rank_makes_meanwhile_is_filled(run_folder, make):
    """Under DDP each rank writes its random state into the checkpoint, where the trainer keeps its own files."""
    checkpoint = make(10)
    shutil.rmtree(checkpoint.path)
    inner = write(checkpoint)

    def slowly(folder: str) -> None:
        inner(folder)
        os.mkdir(checkpoint.path)
        (checkpoint.path / "rng_state_1.pth").write_text("rank 1")

    manifest = {"step": 10, "world_size": 2, "base_model": "b", "targets": [], "versions": {}}
    adapter_files.write_whole(str(checkpoint.path), slowly, manifest)
    names = set(os.listdir(checkpoint.path))
    assert {"rng_state_1.pth", "allranks.json", "adapter_config.json", "README.md"} <= names
    assert not [name for name in os.listdir(run_folder) if name.startswith(adapter_files.SAVING)]
    assert checkpoints.verify(str(checkpoint.path)).whole


@pytest.mark.parametrize("targets", [["o_proj"], r".*\.o_proj"])
def test_two_adapters_with_different_targets_are_both_whole(run_folder, make, targets):
    first, second = make(10), make(11)
    second.tensors = {name: one for name, one in second.tensors.items() if ".o_proj." in name}
    second.config["target_modules"] = targets
    for each in (first, second):
        shutil.rmtree(each.path)

    def both(folder: str) -> None:
        write(first)(folder)
        write(second)(os.path.join(folder, "second"))

    manifest = {"step": 10, "world_size": 2, "base_model": "b", "versions": {}}
    manifest["targets"] = sorted(first.config["target_modules"])
    adapter_files.write_whole(str(first.path), both, manifest)

    assert checkpoints.verify(str(first.path)).whole and checkpoints.verify(str(first.path / "second")).whole
