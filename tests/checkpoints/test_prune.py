"""The janitor removes what nobody needs, and keeps its hands off everything else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from allranks import checkpoints
from allranks.checkpoints import removal, resuming
from tests.checkpoints import test_kinds
from tests.checkpoints.conftest import safetensors

RUN = "0902-a"
SHARDS = (
    "global_step{}/mp_rank_00_model_states.pt",
    "latest",
    "zero_to_fp32.py",
    "rng_state_0.pth",
    "scheduler.pt",
)
JUNK = ("README.md", "training_args.bin")


@pytest.fixture
def run(run_folder):
    checkpoints.mark(str(run_folder), RUN)
    return run_folder


def with_shards(checkpoint):
    """Adds what DeepSpeed and transformers write beside an adapter."""
    for name in (*SHARDS, *JUNK):
        path = checkpoint.path / name.format(checkpoint.step)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"global_step{checkpoint.step}" if name == "latest" else "x" * 5000)
    return checkpoint


def damage(checkpoint):
    checkpoint.weights.write_bytes(checkpoint.weights.read_bytes()[:-1])
    return checkpoint


def present(run):
    return sorted(name for name in os.listdir(run) if name.startswith("checkpoint"))


def test_keeps_the_newest_and_removes_the_rest(run, make):
    for step in (10, 20, 30, 40):
        make(step)

    report = checkpoints.prune(str(run), 2, marker=RUN)

    assert present(run) == ["checkpoint-30", "checkpoint-40"]
    assert report.removed == ("checkpoint-20", "checkpoint-10")
    assert report.kept == ("checkpoint-40", "checkpoint-30")
    assert report.freed_bytes > 0 and report.refused == ()


def test_a_dry_run_says_the_same_and_touches_nothing(run, make, files_of):
    for step in (10, 20, 30):
        with_shards(make(step, manifest=True))
    before = files_of(run)

    shown = checkpoints.prune(str(run), 2, dry_run=True)
    assert files_of(run) == before

    done = checkpoints.prune(str(run), 2)
    assert (shown.removed, shown.kept, shown.freed_bytes) == (done.removed, done.kept, done.freed_bytes)
    assert checkpoints.prune(str(run), 2).removed == ()


def test_the_newest_whole_one_stays_behind_damaged_newer_ones(run, make):
    make(10), make(20)
    damage(make(30)), damage(make(40))

    report = checkpoints.prune(str(run), 1)

    assert present(run) == ["checkpoint-20", "checkpoint-30", "checkpoint-40"]
    assert report.removed == ("checkpoint-10",)


def test_a_damaged_one_older_than_the_kept_ones_goes(run, make):
    damage(make(10)), make(20), make(30)

    checkpoints.prune(str(run), 2)

    assert present(run) == ["checkpoint-20", "checkpoint-30"]


def test_nothing_goes_where_nothing_is_whole(run, make, files_of):
    for step in (10, 20, 30):
        with_shards(damage(make(step)))
    before = files_of(run)

    report = checkpoints.prune(str(run), 1)

    assert files_of(run) == before
    assert [f.id for f in report.findings] == ["prune-nothing-verified"]


def test_expectations_decide_what_is_whole(run, make):
    make(10), make(20)

    report = checkpoints.prune(str(run), 1, expect={"rank": 16})

    assert report.removed == () and present(run) == ["checkpoint-10", "checkpoint-20"]


@pytest.mark.parametrize(
    "said", [{"best_model_checkpoint": "/app/saves/run/checkpoint-10"}, {"best_global_step": 10}]
)
def test_the_best_one_stays(run, make, said):
    make(10), make(20)
    newest = make(30)
    newest.state.update(said)
    newest.write(manifest=False)

    report = checkpoints.prune(str(run), 1)

    assert present(run) == ["checkpoint-10", "checkpoint-30"]
    assert report.reasons["checkpoint-10"] == "the best one"


def test_the_best_one_keeps_its_state_for_the_end_of_the_training(run, make):
    for step in (10, 20):
        with_shards(make(step))
    newest = with_shards(make(30))
    newest.state.update({"best_global_step": 10})
    newest.write(manifest=False)

    checkpoints.prune(str(run), 2)

    assert (run / "checkpoint-10" / "global_step10").is_dir() and (
        run / "checkpoint-30" / "global_step30"
    ).is_dir()
    assert not (run / "checkpoint-20" / "global_step20").exists()


def test_one_that_cannot_be_judged_stays(run, make):
    odd = make(10)
    odd.config["peft_type"] = "OFT"
    odd.write(manifest=False)
    make(20), make(30)

    checkpoints.prune(str(run), 1)

    assert present(run) == ["checkpoint-10", "checkpoint-30"]


def test_shards_stay_for_resuming_and_go_elsewhere(run, make):
    for step in (10, 20, 30):
        with_shards(make(step))

    report = checkpoints.prune(str(run), 3)

    assert sorted(os.listdir(run / "checkpoint-30")) == [
        "adapter_config.json", "adapter_model.safetensors", "global_step30", "latest", "rng_state_0.pth",
        "scheduler.pt", "trainer_state.json",
    ]  # fmt: skip
    for step in (10, 20):
        left = sorted(os.listdir(run / f"checkpoint-{step}"))
        assert left == ["adapter_config.json", "adapter_model.safetensors", "trainer_state.json"]
        assert checkpoints.verify(str(run / f"checkpoint-{step}")).whole
    assert "checkpoint-10/global_step10" in report.removed


def test_what_a_resume_needs_stays_until_a_newer_one_is_finished(run, make):
    """A save under way has its adapter first and trainer_state.json last."""
    with_shards(make(20))
    coming = make(30)
    (coming.path / "trainer_state.json").unlink()

    checkpoints.prune(str(run), 2)
    assert (run / "checkpoint-20" / "global_step20").is_dir()

    coming.write(manifest=False)  # finished, but without any optimizer state
    checkpoints.prune(str(run), 2)
    assert (run / "checkpoint-20" / "global_step20").is_dir()

    with_shards(coming)
    checkpoints.prune(str(run), 2)
    assert not (run / "checkpoint-20" / "global_step20").exists()
    assert (run / "checkpoint-30" / "global_step30").is_dir()


def test_a_shard_that_latest_does_not_name_goes(run, make):
    newest = with_shards(make(20))
    (newest.path / "global_step10").mkdir()

    checkpoints.prune(str(run), 1)

    assert (newest.path / "global_step20").is_dir() and not (newest.path / "global_step10").exists()


def test_shards_stay_beside_an_empty_adapter(run, make):
    """transformers 4.52 without the gather flag: the shards are the only copy of the weights."""
    newest = make(30)
    newest.tensors = {}
    with_shards(newest.write(manifest=False))
    make(20)

    checkpoints.prune(str(run), 1)

    assert (newest.path / "global_step30/mp_rank_00_model_states.pt").exists()


def test_shards_beside_the_final_adapter_go_if_it_is_whole(run, make):
    final = with_shards(make(None, final=30))
    make(20)

    checkpoints.prune(str(run), 1)

    assert not (run / "global_step30").exists() and not (run / "latest").exists()
    assert (run / "README.md").exists() and final.weights.exists()

    with_shards(damage(final))
    checkpoints.prune(str(run), 1)
    assert (run / "global_step30").exists()


def test_a_manifest_stays_true(run, make):
    for step in (10, 20):
        made = with_shards(make(step))
        made.covered += ["scheduler.pt", f"global_step{step}/mp_rank_00_model_states.pt", "README.md"]
        made.seal()

    checkpoints.prune(str(run), 2)

    for step, names in ((10, 3), (20, 5)):
        manifest = json.loads((run / f"checkpoint-{step}" / "allranks.json").read_text())
        assert len(manifest["files"]) == names and manifest["step"] == step
        assert checkpoints.verify(str(run / f"checkpoint-{step}")).whole


def test_users_own_files_stay(run, make):
    make(10)
    (run / "checkpoint-10" / "notes.txt").write_text("mine")
    (run / "notes").mkdir()
    (run / "checkpoint-best").mkdir()

    checkpoints.prune(str(run), 1)

    assert (run / "checkpoint-10" / "notes.txt").exists()
    assert (run / "notes").is_dir() and (run / "checkpoint-best").is_dir()


# ---- whose folder is it ----


def test_a_folder_without_a_mark_is_not_touched(run_folder, make, files_of):
    make(10), make(20)
    before = files_of(run_folder)

    report = checkpoints.prune(str(run_folder), 1)

    assert files_of(run_folder) == before
    assert [f.id for f in report.findings] == ["prune-not-ours"]
    assert checkpoints.prune(str(run_folder), 1, vouched=True).removed == ("checkpoint-10",)


def test_another_runs_folder_is_not_touched(run, make):
    make(10), make(20)

    report = checkpoints.prune(str(run), 1, marker="0903-b", vouched=True)

    assert [f.id for f in report.findings] == ["prune-not-ours"]
    assert present(run) == ["checkpoint-10", "checkpoint-20"]
    with pytest.raises(FileExistsError):
        checkpoints.mark(str(run), "0903-b")
    checkpoints.mark(str(run), RUN)


def test_a_mark_through_a_link_is_no_mark(run_folder, tmp_path, make):
    make(10), make(20)
    (tmp_path / "mark").write_text(json.dumps({"run_id": RUN}))
    (run_folder / ".allranks-run").symlink_to(tmp_path / "mark")

    assert [f.id for f in checkpoints.prune(str(run_folder), 1).findings] == ["prune-not-ours"]


# ---- links, owners, devices ----


def test_a_link_is_never_followed(run, make, tmp_path, files_of):
    treasure = tmp_path / "treasure"
    (treasure / "checkpoint-5").mkdir(parents=True)
    (treasure / "model.safetensors").write_text("another's")
    (run / "checkpoint-5").symlink_to(treasure / "checkpoint-5")
    old, new = make(10), with_shards(make(20))
    (old.path / "data").symlink_to(treasure)
    (new.path / "README.md").unlink()
    (new.path / "README.md").symlink_to(treasure / "model.safetensors")
    before = files_of(treasure)

    checkpoints.prune(str(run), 1)

    assert files_of(treasure) == before
    assert present(run) == ["checkpoint-20", "checkpoint-5"]
    assert os.path.islink(run / "checkpoint-5")


def test_a_folder_swapped_for_a_link_at_the_last_moment_is_not_followed(
    run, make, tmp_path, monkeypatch, files_of
):
    old = make(10)
    make(20)
    (old.path / "global_step10").mkdir()
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "file").write_text("another's")
    real = removal._set_aside

    def swap(parent, name):
        aside = real(parent, name)
        os.rmdir(run / aside / "global_step10")
        os.symlink(treasure, run / aside / "global_step10")
        return aside

    monkeypatch.setattr(removal, "_set_aside", swap)
    checkpoints.prune(str(run), 1)

    assert files_of(treasure) == {str(treasure / "file"): b"another's"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_stays_whole(run, make):
    old = make(10)
    make(20)
    (old.path / "theirs").write_text("x")
    os.chown(old.path / "theirs", 12345, 12345)

    report = checkpoints.prune(str(run), 1)

    assert report.refused == ("checkpoint-10",) and report.removed == ()
    assert "belongs to user 12345" in report.reasons["checkpoint-10"]
    assert sorted(os.listdir(old.path)) == [
        "adapter_config.json", "adapter_model.safetensors", "theirs", "trainer_state.json",
    ]  # fmt: skip


def test_another_device_is_not_entered(run, make):
    make(10), make(20)
    home = removal.Home.open(str(run))
    try:
        abroad = removal.Home(home.fd, home.device + 1, home.owner)
        with pytest.raises(removal.NotOurs, match="another device"):
            removal.remove(abroad, abroad.fd, "checkpoint-10")
    finally:
        home.close()
    assert present(run) == ["checkpoint-10", "checkpoint-20"]


def test_a_pipe_keeps_its_folder(run, make):
    old = make(10)
    make(20)
    os.mkfifo(old.path / "pipe")

    assert checkpoints.prune(str(run), 1).refused == ("checkpoint-10",)


def test_a_removal_that_broke_off_is_finished_and_never_found(run, make, monkeypatch):
    make(10), make(20)

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(removal, "_empty", crash)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.prune(str(run), 1)
    assert present(run) == ["checkpoint-20"]
    assert len(checkpoints.find(str(run))) == 1

    report = checkpoints.prune(str(run), 1)

    assert report.removed == (".allranks-removing-checkpoint-10",)
    assert sorted(os.listdir(run)) == [".allranks-run", "checkpoint-20"]


def test_no_descriptor_is_left_open(run, make):
    for step in (10, 20, 30):
        with_shards(make(step, manifest=True))
    before = len(os.listdir("/proc/self/fd"))

    checkpoints.prune(str(run), 1)

    assert len(os.listdir("/proc/self/fd")) == before


# ---- space ----


def test_space_is_compared_with_the_next_save(tmp_path):
    disk = os.statvfs(tmp_path)
    free = disk.f_bavail * disk.f_frsize

    assert checkpoints.space(str(tmp_path / "not" / "yet"), 1000).verdict == "ok"
    low = checkpoints.space(str(tmp_path), free)  # it fits with nothing to spare
    assert (low.id, low.verdict) == ("save-space-low", "warn")
    assert "MiB free" in low.saw


def test_space_that_cannot_be_read_is_unknown(tmp_path, monkeypatch):
    def broken(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "statvfs", broken)
    assert checkpoints.space(str(tmp_path), 1).verdict == "unknown"


def test_space_without_inodes_is_low(tmp_path, monkeypatch):
    real = os.statvfs(tmp_path)
    numbers = list(real)
    numbers[5], numbers[7] = 1000, 0  # f_files, f_favail
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(tuple(numbers)))

    assert "inode" in checkpoints.space(str(tmp_path), 1).saw


def test_of_other_kinds_old_whole_ones_go_and_nothing_within_one(run):
    """A full fine-tune under DeepSpeed: the shards may be the only weights."""
    for step in (10, 20, 30):
        test_kinds.deepspeed(run / f"checkpoint-{step}")
        (run / f"checkpoint-{step}" / "trainer_state.json").write_text(json.dumps({"global_step": step}))
        (run / f"checkpoint-{step}" / "optimizer.pt").write_bytes(test_kinds.torch_file())
    test_kinds.deepspeed(run / "checkpoint-5", ranks=(0, 2))

    report = checkpoints.prune(str(run), 2, marker=RUN)

    assert present(run) == ["checkpoint-20", "checkpoint-30", "checkpoint-5"]
    assert report.removed == ("checkpoint-10",)


def a_series(run: Path, *tags: str) -> None:
    """Tags as `engine.save_checkpoint(folder, tag=…)` leaves them."""
    for tag in tags:
        test_kinds.deepspeed(run / "made")
        (run / "made" / "global_step12").rename(run / tag)
        shutil.rmtree(run / "made")
        (run / "latest").write_text(tag)
    (run / "zero_to_fp32.py").write_text("")


def test_of_deepspeeds_own_tags_the_newest_stay(run):
    a_series(run, "step_100", "step_900", "step_1000", "best")
    (run / "latest").write_text("step_100")

    report = checkpoints.prune(str(run), 1, marker=RUN)

    assert {"best", "latest", "step_100", "step_1000", "zero_to_fp32.py"} <= set(os.listdir(run))
    assert report.removed == ("step_900",)
    assert report.reasons["step_100"] == "the one that DeepSpeed's file latest names"


def test_a_tag_of_which_files_are_missing_stays(run):
    a_series(run, "global_step5", "global_step6", "global_step7")
    next((run / "global_step5").glob("*_rank_2_*optim*")).unlink()

    report = checkpoints.prune(str(run), 1, marker=RUN)

    assert report.removed == ("global_step6",)
    assert "global_step5" in report.kept


def test_tags_beside_a_trainers_checkpoints_are_left_alone(run):
    a_series(run, "global_step5", "global_step6")
    test_kinds.deepspeed(run / "checkpoint-10")
    test_kinds.deepspeed(run / "checkpoint-20")

    assert checkpoints.prune(str(run), 1, marker=RUN).removed == ("checkpoint-10",)


def test_a_loops_own_checkpoint_beside_its_adapter_stays(run, make):
    """`engine.save_checkpoint(OUT)` and `model.save_pretrained(OUT)`: no Trainer saved here."""
    final = with_shards(make(None, final=30))
    (run / "training_args.bin").unlink()
    (run / "trainer_state.json").unlink(missing_ok=True)
    (run / "global_step20").mkdir()
    make(20)

    checkpoints.prune(str(run), 1)

    assert (
        (run / "global_step30").is_dir() and (run / "latest").exists() and (run / "zero_to_fp32.py").exists()
    )
    assert not (run / "global_step20").exists() and final.weights.exists()


def test_a_tag_that_is_being_written_beside_the_loops_adapter_stays(run, make):
    """DeepSpeed writes `latest` after all files of the tag."""
    with_shards(make(None, final=30))
    for name in ("training_args.bin", "trainer_state.json"):
        (run / name).unlink(missing_ok=True)
    for tag in ("global_step9", "global_step40", "global_step100"):
        (run / tag).mkdir()

    report = checkpoints.prune(str(run), 3, marker=RUN)

    assert report.removed == ("global_step9",)


def test_a_trainers_save_that_broke_off_takes_no_finished_ones_place(run):
    for step in (100, 200):
        folder = run / f"checkpoint-{step}"
        test_kinds.deepspeed(folder)
        for name in ("training_args.bin", "scheduler.pt", "rng_state_0.pth"):
            (folder / name).write_bytes(test_kinds.torch_file())
    (run / "checkpoint-100" / "trainer_state.json").write_text(json.dumps({"global_step": 100}))

    report = checkpoints.prune(str(run), 1, marker=RUN)

    assert report.removed == () and present(run) == ["checkpoint-100", "checkpoint-200"]


def test_a_state_from_which_nothing_can_resume_takes_no_other_ones_place(run, make):
    """A save whose writer died before trainer_state.json; the run went back to an earlier one and saves again."""
    for step in (50, 51, 100):
        made = make(step)
        made.covered.remove("trainer_state.json")
        for name in ("allranks-resume.safetensors", "allranks-resume.json"):
            (made.path / name).write_text("state")
            made.covered.append(name)
        made.seal()
    (run / "checkpoint-100" / "trainer_state.json").unlink()
    saving = run / ".allranks-saving-checkpoint-60"
    saving.mkdir()

    checkpoints.prune(str(run), 1)

    assert present(run) == ["checkpoint-100", "checkpoint-51"] and saving.is_dir()
    for step in (51, 100):  # its last file may be about to come
        assert (run / f"checkpoint-{step}" / "allranks-resume.json").exists()


def test_an_attempt_that_began_from_the_start_keeps_what_it_saved_last(run, make):
    """Its steps are lower than those of the attempt before, of which nothing could be continued."""
    for age, step in enumerate((100, 50, 500, 450, 400)):
        checkpoint = make(step)
        os.utime(checkpoint.weights, (10_000 - age, 10_000 - age))
    report = checkpoints.prune(str(run), 2, marker=RUN)
    assert present(run) == ["checkpoint-100", "checkpoint-450", "checkpoint-50", "checkpoint-500"]
    assert report.reasons["checkpoint-50"] == "among the last 2 that were written"


def test_a_save_that_is_under_way_stays_whatever_its_step(run, make):
    for name, time in ((".allranks-saving-checkpoint-20", 20_000), (".allranks-saving-checkpoint-30", 1_000)):
        (run / name).mkdir()
        (run / name / "part").write_text("x")
        for path in (run / name / "part", run / name):
            os.utime(path, (time, time))
    os.utime(make(40).weights, (10_000, 10_000))
    report = checkpoints.prune(str(run), 2, marker=RUN)
    assert report.removed == (".allranks-saving-checkpoint-30",)


def test_a_thinned_checkpoint_keeps_its_time(run, make):
    """A Trainer's save_total_limit goes by the folders' times, and would remove the newest one next."""
    for step in (10, 20):
        checkpoint = with_shards(make(step, manifest=True))
        os.utime(checkpoint.path, (10_000 + step, 10_000 + step))
    checkpoints.prune(str(run), 2, marker=RUN)
    assert not (run / "checkpoint-10" / "latest").exists()
    assert [(run / f"checkpoint-{step}").stat().st_mtime for step in (10, 20)] == [10_010, 10_020]


def test_a_checkpoint_that_is_named_itself_keeps_its_state(run, make):
    checkpoint = with_shards(make(50))
    (checkpoint.path / "trainer_state.json").write_text('{"global_step": 50}')
    report = checkpoints.prune(str(checkpoint.path), 3, vouched=True, dry_run=True)
    assert not [name for name in report.removed if name.startswith(("global_step", "latest"))]


@pytest.mark.parametrize("more", [(), ("base_model.model.projector.weight",)])
def test_a_state_with_weights_that_the_adapter_lacks_stays(run, make, more):
    for step in (10, 20):
        checkpoint = make(step)
        names = [name.replace(".weight", ".default.weight") for name in checkpoint.tensors]
        state = {f"master/{name}": ("F32", (2,), bytes(8)) for name in (*names, *more)}
        for file, content in zip(resuming.STATE, (b"{}", safetensors(state)), strict=True):
            (checkpoint.path / file).write_bytes(content)
            checkpoint.covered.append(file)
        checkpoint.seal()
    checkpoints.prune(str(run), 2, marker=RUN)
    assert (run / "checkpoint-20" / "allranks-resume.safetensors").exists()
    assert (run / "checkpoint-10" / "allranks-resume.safetensors").exists() == bool(more)
