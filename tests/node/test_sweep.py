"""Sweeping after the worst: the supervisor killed with SIGKILL, its ranks scattered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from allranks.core import BadInput
from allranks.node import paths, processes, sweep
from allranks.node.secret_store import SecretStore

pytestmark = pytest.mark.lengthy

STUBBORN = {
    "name": "torchrun",
    "deaf": True,
    "children": [
        {"name": "rank", "deaf": True, "setsid": True, "children": [{"name": "loader", "deaf": True}]},
        {"name": "daemon", "daemon": True, "deaf": True},
        {"name": "bare", "bare": True, "deaf": True, "setsid": True},
        {"name": "erased", "erase": True, "deaf": True, "setsid": True},
    ],
}
ALL = ["bare", "daemon", "erased", "loader", "rank", "torchrun"]


@pytest.fixture
def widow(field):
    """A run whose supervisor was killed and whose processes all live on."""
    field.supervise(field.tree(**STUBBORN))
    field.recorded(*ALL)
    field.supervisor.kill()
    field.supervisor.wait()
    assert field.alive(*ALL) == ALL
    return field


def test_a_sweep_finds_everything_that_a_killed_supervisor_left(widow):
    dry = sweep.sweep(widow.run_id, dry_run=True)
    assert sorted(entry["pid"] for entry in dry["processes"]) == sorted(widow.process(n).pid for n in ALL)
    assert widow.alive(*ALL) == ALL
    done = sweep.sweep(widow.run_id)
    assert done["processes"] == [] and widow.alive() == []
    assert {entry["signal"] for entry in done["stopped"]} == {"SIGKILL"}
    assert "recorded" in done["stopped"][0]["why"]
    assert sweep.sweep(widow.run_id, dry_run=True)["processes"] == []


def test_what_was_started_after_the_supervisors_death_is_found_too(field, tmp_path):
    """It was never recorded: it is found by its parent, or by its session and the run id it carries."""
    late = {"name": "late", "deaf": True, "children": [{"name": "later", "daemon": True, "deaf": True}]}
    killed = tmp_path / "the supervisor is gone"
    early = {"name": "rank", "setsid": True, "deaf": True, "until": str(killed), "children": [late]}
    field.supervise(field.tree(name="torchrun", deaf=True, children=[early]))
    field.recorded("torchrun", "rank")
    field.supervisor.kill()
    field.supervisor.wait()
    killed.touch()
    late, later = field.process("late"), field.process("later")
    # The parent goes, so that `late` can be found by its session and the run id alone.
    os.kill(field.process("rank").pid, signal.SIGKILL)
    assert field.gone(field.process("rank"))
    dry = sweep.sweep(field.run_id, dry_run=True)
    why = {entry["pid"]: entry["why"] for entry in dry["processes"]}
    assert why[late.pid] == "it carries the run id in a session that the run made"
    # A daemon in a session of its own, whose every ancestor is gone, proves nothing: it is only named.
    assert [entry["pid"] for entry in dry["foreign"]] == [later.pid]
    sweep.sweep(field.run_id)
    assert field.alive() == ["later"]


def test_strangers_survive_and_are_named(widow):
    shell = widow.stranger(ALLRANKS_RUN_ID=widow.run_id)
    plain = widow.stranger()
    other = widow.stranger(ALLRANKS_RUN_ID="another-run")
    answer = sweep.sweep(widow.run_id)
    assert [entry["pid"] for entry in answer["foreign"]] == [shell.pid]
    assert "did not make its session" in answer["foreign"][0]["why"]
    assert [child.poll() for child in (shell, plain, other)] == [None, None, None]


def test_a_recycled_pid_in_the_records_is_left_alone(widow):
    stranger = widow.stranger()
    line = paths.Tail(widow.node.processes).read()[-1]
    with open(widow.node.processes, "a") as file:
        file.write(json.dumps({**line, "pid": stranger.pid, "session": stranger.pid}) + "\n")
        file.write(json.dumps({**line, "pid": os.getpid()}) + "\n")
    sweep.sweep(widow.run_id)
    assert stranger.poll() is None and widow.alive() == []


def test_records_of_another_boot_host_or_namespace_accuse_nobody(widow):
    stranger = widow.stranger()
    mine = processes.identify("node-0", widow.run_id, stranger.pid)
    line = {**processes.record_of(mine), "session": stranger.pid}
    others = ({"boot_id": "another"}, {"host": "another"}, {"pid_namespace": "pid:[1]"})
    os.makedirs(widow.directory.node("node-1").root)
    with open(widow.directory.node("node-1").processes, "w") as file:
        file.writelines(json.dumps({**line, **other}) + "\n" for other in others)
    answer = sweep.sweep(widow.run_id)
    assert stranger.poll() is None and answer["unseen"] == ["node-1"]


def test_a_sweep_never_stops_who_asks_for_it(field):
    """The sweep is started from inside the run: by a script of a rank."""
    script = f"""
import json, subprocess, sys, time
sys.path[:0] = {[p for p in sys.path if p]!r}
from allranks.node import sweep
time.sleep(0.8)
answer = sweep.sweep({field.run_id!r}, dry_run=True)
print("ours", len(answer["processes"]), flush=True)
"""
    field.supervise(
        [sys.executable, "-I", "-S", "-c", script], env={"ALLRANKS_HOME": os.environ["ALLRANKS_HOME"]}
    )
    field.wait_for("torchrun-ended")
    assert "ours 0" in paths.read_text(field.node.torchrun_log)


def test_a_living_supervisor_is_asked_first_and_tells_the_end(field):
    field.supervise(field.tree(**STUBBORN))
    field.recorded(*ALL)
    answer = sweep.sweep(field.run_id)
    assert [entry["signal"] for entry in answer["stopped"]] == ["SIGTERM"]
    assert field.alive() == [] and field.supervisor.wait(40) == 1
    assert field.journal()[-1].kind == "swept"


def test_a_run_that_is_led_is_not_swept_unless_it_has_ended(field):
    field.supervise(field.tree(name="torchrun"))
    field.recorded("torchrun")
    with pytest.raises(BadInput, match="is at work here"):
        sweep.refuse_led(field.run_id, seconds=0.0)
    assert len(field.alive()) == 1
    seen = {entry["pid"]: entry["own"] for entry in sweep.sweep(field.run_id, dry_run=True)["processes"]}
    assert seen[field.supervisor.pid] is True and seen[field.process("torchrun").pid] is False
    field.directory.keeper.create()
    paths.write_json(field.directory.keeper.state, {"state": "failed"})
    sweep.refuse_led(field.run_id, seconds=0.0)


def test_a_run_that_was_never_here_has_nothing_left(home):
    answer = sweep.sweep("never-here")
    assert (answer["processes"], answer["files"], answer["foreign"]) == ([], [], [])
    assert sweep.clean("never-here") == {
        "run_id": "never-here",
        "removed": None,
        "kept": [],
        "models": [],
    }
    assert os.listdir(home) == []


def test_a_folder_that_is_no_run_is_neither_swept_nor_removed(home):
    folder = home / "runs" / "thesis"
    folder.mkdir(parents=True)
    (folder / "chapter-1.txt").write_text("…")
    for verb in (sweep.sweep, sweep.clean):
        with pytest.raises(BadInput, match="lacks the run's marker"):
            verb("thesis")
    (folder / paths.RunDirectory("thesis").marker).write_text("another-run\n")
    with pytest.raises(BadInput):
        sweep.clean("thesis")
    assert (folder / "chapter-1.txt").exists()


def test_clean_refuses_a_run_that_lives_and_removes_one_that_has_ended(field):
    field.supervise(field.tree(name="torchrun"))
    field.recorded("torchrun")
    with pytest.raises(BadInput, match="living processes"):
        sweep.clean(field.run_id)
    sweep.sweep(field.run_id)
    field.supervisor.wait(40)
    paths.write_json(os.path.join(field.node.work, "model.json"), {})
    answer = {"run_id": field.run_id, "removed": field.directory.root, "kept": [], "models": []}
    assert sweep.clean(field.run_id) == answer
    assert not os.path.exists(field.directory.root)


def test_clean_refuses_what_may_run_where_it_cannot_look(home):
    directory = paths.RunDirectory("r-shared")
    directory.create(node="node-0", keeper=True)
    paths.write_json(directory.keeper.state, {"state": "running"})
    record = {**processes.record_of(processes.identify("node-0", "r-shared")), "host": "another"}
    paths.write_json(directory.node("node-0").supervisor, record)
    with pytest.raises(BadInput, match="cannot be seen from here"):
        sweep.clean("r-shared")
    paths.write_json(directory.keeper.state, {"state": "failed"})
    assert sweep.clean("r-shared")["removed"] == directory.root


def test_clean_follows_no_link_out_of_the_run(home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    directory = paths.RunDirectory("r-links")
    directory.create(node="node-0")
    os.symlink(outside, os.path.join(directory.node("node-0").work, "link"))
    os.symlink(outside / "precious", os.path.join(directory.root, "file"))
    sweep.clean("r-links")
    assert (outside / "precious").read_text() == "x" and not os.path.exists(directory.root)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount and to give files away")
def test_clean_keeps_what_others_mounted_or_put_into_the_run(home):
    directory = paths.RunDirectory("r-mounts")
    directory.create(node="node-0")
    work = directory.node("node-0").work
    os.mkdir(os.path.join(work, "mnt"))
    theirs = os.path.join(work, "theirs")
    os.mkdir(theirs)
    os.chown(theirs, 12345, 12345)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", os.path.join(work, "mnt")], check=True)
    data = home / "data of others"  # on the same file system as the run
    (data / "deep").mkdir(parents=True)
    bound = os.path.join(work, "bound here")
    os.mkdir(bound)
    subprocess.run(["mount", "--bind", str(data), bound], check=True)
    try:
        paths.write_text(os.path.join(work, "mnt", "data"), "x")
        kept = sweep.clean("r-mounts")["kept"]
        below = "r-mounts/nodes/node-0/work"
        assert sorted(kept) == [f"{below}/bound here", f"{below}/mnt", f"{below}/theirs"]
        assert os.path.exists(os.path.join(work, "mnt", "data")) and (data / "deep").exists()
    finally:
        subprocess.run(["umount", os.path.join(work, "mnt")], check=True)
        subprocess.run(["umount", bound], check=True)


def test_half_written_files_of_a_killed_writer_are_tidied_away(widow):
    draft = os.path.join(widow.node.root, ".job.json.123.456.draft")
    paths.write_text(draft, "{")
    assert draft in sweep.sweep(widow.run_id)["files"] and not os.path.exists(draft)


def test_a_sweep_removes_and_masks_nothing_behind_a_link(home, tmp_path):
    outside = tmp_path / "outside"
    (outside / "logs").mkdir(parents=True)
    mine = outside / ".job.json.123.456.draft"
    mine.write_text("mine")
    (outside / "logs" / "rank-0.log").write_text("a secret value")
    directory = paths.RunDirectory("r-links")
    directory.create(node="a")
    os.symlink(outside, directory.node("b").root)
    node = directory.node("a")
    os.rmdir(node.logs)
    os.symlink(outside / "logs", node.logs)
    for name in ("a", "b"):
        SecretStore(directory, name).keep({"TOKEN": "secret value"})
    notes = os.path.join(node.root, ".notes.draft")
    paths.write_text(notes, "the script's own")
    ours = os.path.join(node.root, ".job.json.123.456.draft")
    paths.write_text(ours, "{")
    swept = sweep.sweep("r-links")["files"]
    assert ours in swept and not os.path.exists(ours)
    assert mine.read_text() == "mine" and os.path.exists(notes)
    assert (outside / "logs" / "rank-0.log").read_text() == "a secret value"
