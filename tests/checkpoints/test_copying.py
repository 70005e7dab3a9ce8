"""A copy on other storage: whole or not there, from where it broke off, never faster than it may."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from allranks import checkpoints
from allranks.checkpoints import copying


@pytest.fixture
def source(checkpoint) -> Path:
    checkpoint.write()
    (checkpoint.path / "allranks-resume.safetensors").write_bytes(os.urandom(3_000_000))
    return checkpoint.path


def test_a_copy_is_the_checkpoint(source, tmp_path, files_of):
    target = tmp_path / "nfs" / "run" / "checkpoint-20"

    report = copying.copy(str(source), str(target))

    assert list(files_of(target).values()) == list(files_of(source).values())
    assert report.files == 5 and report.kept_bytes == 0
    assert checkpoints.verify(str(target)).whole
    assert os.listdir(target.parent) == ["checkpoint-20"]
    assert copying.copy(str(source), str(target)).copied_bytes == 0


def test_what_is_gone_leaves_no_empty_copy(tmp_path):
    target = tmp_path / "nfs" / "checkpoint-20"
    for source in (tmp_path / "pruned", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(FileNotFoundError):
            copying.copy(str(source), str(target))
    assert not target.exists()


def test_it_goes_on_from_where_it_broke_off(source, tmp_path, monkeypatch):
    target = tmp_path / "nfs" / "checkpoint-20"
    written = []

    def breaks(file, part):
        if sum(written) > 2_000_000:
            raise OSError(5, "Input/output error")
        written.append(file.write(part))

    with monkeypatch.context() as patch:
        patch.setattr(copying, "_write", breaks)
        with pytest.raises(OSError, match="Input/output error"):
            copying.copy(str(source), str(target))
    assert not target.exists()
    assert not [p for p in checkpoints.find(str(target.parent))]

    report = copying.copy(str(source), str(target))

    assert report.kept_bytes == sum(written) and report.copied_bytes < 1_100_000
    assert checkpoints.verify(str(target)).whole


def test_what_an_earlier_try_left_of_another_save_is_not_taken_over(source, tmp_path):
    growing = tmp_path / "nfs" / (copying.COPYING + "checkpoint-20")
    growing.mkdir(parents=True)
    (growing / "allranks-resume.safetensors").write_bytes(b"x" * 5_000_000)
    (growing / "stray").write_bytes(b"x")

    copying.copy(str(source), str(tmp_path / "nfs" / "checkpoint-20"))

    copied = tmp_path / "nfs" / "checkpoint-20"
    name = "allranks-resume.safetensors"
    assert (copied / name).read_bytes() == (source / name).read_bytes()
    assert not (copied / "stray").exists()


def test_storage_that_gives_back_something_else_is_noticed(source, tmp_path, monkeypatch):
    real = copying.digest_of
    monkeypatch.setattr(copying, "digest_of", lambda path: "0" * 64 if "nfs" in path else real(path))

    with pytest.raises(copying.CopyDiffers):
        copying.copy(str(source), str(tmp_path / "nfs" / "checkpoint-20"))

    assert not (tmp_path / "nfs" / "checkpoint-20").exists()


def test_a_new_save_of_the_same_step_replaces_the_copy(source, tmp_path, checkpoint):
    target = tmp_path / "nfs" / "checkpoint-20"
    copying.copy(str(source), str(target))
    checkpoint.put("base_model.model.model.layers.0.self_attn.o_proj.lora_B.weight", (64, 4))
    checkpoint.config["lora_alpha"] = 16
    checkpoint.write()

    copying.copy(str(source), str(target))

    assert (target / "allranks.json").read_bytes() == (source / "allranks.json").read_bytes()
    assert os.listdir(target.parent) == ["checkpoint-20"]


def test_links_other_checkpoints_and_marks_stay_behind(source, tmp_path):
    run = source.parent
    (run / "adapter_config.json").write_text("{}")
    (run / ".allranks-run").write_text("{}")
    (run / "passwd").symlink_to("/etc/passwd")

    assert copying.files_below(str(run)) == ["adapter_config.json"]


def test_a_file_that_the_janitor_takes_meanwhile_is_no_failure(source, tmp_path, monkeypatch):
    (source / "README.md").write_text("card")
    real, seen = copying._copy_file, []

    def prunes(one, other, pace):
        if not seen:
            (source / "README.md").unlink()
        seen.append(one)
        return real(one, other, pace)

    monkeypatch.setattr(copying, "_copy_file", prunes)
    copying.copy(str(source), str(tmp_path / "nfs" / "checkpoint-20"))

    assert checkpoints.verify(str(tmp_path / "nfs" / "checkpoint-20")).whole


def test_it_is_throttled(source, tmp_path):
    began = time.monotonic()

    copying.copy(str(source), str(tmp_path / "checkpoint-20"), bytes_a_second=15_000_000)

    assert time.monotonic() - began > 0.18  # 3 MB at 15 MB/s: 0.2 s


def test_a_folder_that_cannot_be_read_is_not_left_out(source, tmp_path, monkeypatch, files_of):
    (source / "global_step20").mkdir()
    (source / "global_step20" / "states.pt").write_bytes(b"x" * 1000)
    target = tmp_path / "nfs" / "checkpoint-20"
    copying.copy(str(source), str(target))
    before, scandir = files_of(target), os.scandir
    (source / "trainer_state.json").write_text("{}")  # a newer save of the same step

    def failing(path="."):
        if os.path.basename(os.fspath(path)) == "global_step20":
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    with pytest.raises(OSError, match="Stale"):
        copying.copy(str(source), str(target))
    monkeypatch.undo()
    assert files_of(target) == before
