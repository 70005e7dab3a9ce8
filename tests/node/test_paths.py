"""Run directories: safe names, private modes, atomic files, journals that survive what nodes do to them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput, Event
from allranks.node import files, paths, stop
from allranks.node import journal as journals
from allranks.worker import stack_dumps


@pytest.mark.parametrize("name", ["a", "node-0", "0902-a", "A.b_c", "_x", "x" * 128])
def test_good_names_pass(name):
    assert paths.checked_name(name, "run") == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".a", "-rf", "a/b", "a b", "a\n", "a\0", "x" * 129, "ä", None, 3]
)
def test_names_that_could_leave_the_folder_are_refused(name):
    with pytest.raises(BadInput, match="not a valid name for a run"):
        paths.checked_name(name, "run")


@settings(max_examples=60)
@given(st.text())
def test_an_accepted_name_is_always_one_part_of_a_path(name):
    try:
        paths.checked_name(name, "run")
    except BadInput:
        return
    assert os.path.normpath(os.path.join("/home", name)) == "/home/" + name


def test_home_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "h"))
    assert paths.home() == str(tmp_path / "h")
    monkeypatch.delenv("ALLRANKS_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert paths.home() == "/home/someone/.allranks"


def test_create_makes_private_folders_and_a_marker(tmp_path):
    run = paths.RunDirectory("r1", str(tmp_path / "home"))
    old = os.umask(0)
    try:
        run.create(node="node-0", keeper=True)
        run.create(node="node-0", keeper=True)
    finally:
        os.umask(old)
    for path in (run.home, run.root, run.node("node-0").work, run.keeper.root):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700, path
    assert run.is_marked() and run.nodes() == ["node-0"]
    assert run.keeper.state == f"{run.root}/keeper/state.json"
    assert run.node("node-0").rank_log(3) == f"{run.root}/nodes/node-0/logs/rank-3.log"


def test_create_refuses_a_run_directory_that_is_a_link(tmp_path):
    run = paths.RunDirectory("r1", str(tmp_path))
    os.makedirs(tmp_path / "runs")
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", run.root)
    with pytest.raises(FileExistsError):
        run.create()
    assert not os.path.exists(tmp_path / "elsewhere" / paths.MARKER)


@pytest.mark.parametrize("name", ["journal.jsonl", "logs", "../x", ".hidden", "job.json"])
def test_a_jobs_file_cannot_take_the_place_of_our_own(tmp_path, name):
    with pytest.raises(BadInput):
        paths.NodeDirectory(str(tmp_path), "node-0").file(name)


def test_write_json_is_private_whole_and_leaves_no_draft(tmp_path):
    path = str(tmp_path / "state.json")
    paths.write_json(path, {"a": 1})
    paths.write_json(path, {"a": 2})
    assert paths.read_json(path) == {"a": 2}
    assert os.listdir(tmp_path) == ["state.json"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_reading_never_follows_a_link_nor_waits_for_a_fifo(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    os.symlink(secret, tmp_path / "link.json")
    os.mkfifo(tmp_path / "fifo.json")
    assert paths.read_json(str(tmp_path / "link.json")) is None
    assert paths.read_json(str(tmp_path / "fifo.json")) is None
    assert paths.read_json(str(tmp_path / "missing.json")) is None
    assert paths.read_json(str(secret)) == {}


def test_journal_and_reader_agree(tmp_path):
    path = str(tmp_path / "journal.jsonl")
    journal = paths.Journal(path)
    first, second = Event(1.0, "start", "n", 0, {"pid": 1}), Event(2.0, "end", "n", 0, {"code": 0})
    assert journal.append(first)
    events, offset = paths.read_events(path)
    assert events == [first]
    assert journal.append(second)
    assert paths.read_events(path, offset) == ([second], os.path.getsize(path))
    journal.close()


def test_a_half_written_line_is_left_for_the_next_read(tmp_path):
    path = tmp_path / "journal.jsonl"
    whole, half = Event(1.0, "beat").as_line() + "\n", Event(2.0, "beat").as_line()
    path.write_text(whole + half[:10])
    events, offset = paths.read_events(str(path))
    assert [e.at for e in events] == [1.0] and offset == len(whole)
    path.write_text(whole + half + "\n")
    events, offset = paths.read_events(str(path), offset)
    assert [e.at for e in events] == [2.0] and offset == path.stat().st_size


def test_garbage_is_skipped_and_counted(tmp_path):
    path = tmp_path / "journal.jsonl"
    good = Event(1.0, "beat").as_line()
    huge = b"1" + b"0" * 400
    path.write_bytes(
        b"\xff\xfe\n[1]\n{}\nnot json\n\n"
        + b"[" * 5000
        + b"\n"
        + b'{"kind":"x","at":'
        + huge
        + b"}\n"
        + good.encode()
        + b"\n"
    )
    tail = paths.Tail(str(path))
    assert [e.kind for e in paths.events_of(tail)] == ["beat"]
    assert tail.garbage == 6


def test_an_endless_line_does_not_stop_the_reader(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * (journals.LINE_BYTES + 10))
    tail = paths.Tail(str(path))
    assert tail.read() == [] and tail.garbage == 1
    with open(path, "ab") as file:
        file.write(b"\n" + Event(1.0, "beat").as_line().encode() + b"\n")
    assert [e.kind for e in paths.events_of(tail)] == ["beat"]


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_make_the_reader_raise_or_lose_its_place(tmp_path_factory, blocks):
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_bytes(b"")
    tail = paths.Tail(str(path))
    for block in blocks:
        with open(path, "ab") as file:
            file.write(block)
        paths.events_of(tail)
    with open(path, "ab") as file:
        file.write(b"\n" + Event(7.0, "end").as_line().encode() + b"\n")
    assert [e.at for e in paths.events_of(tail)][-1:] == [7.0]
    assert tail.offset == path.stat().st_size


def test_a_line_cut_by_a_killed_writer_spoils_only_itself(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"at": 1.0, "ki')
    journal = paths.Journal(str(path))
    journal.append(Event(2.0, "beat"))
    journal.close()
    tail = paths.Tail(str(path))
    assert [e.at for e in paths.events_of(tail)] == [2.0] and tail.garbage == 1


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mount = tmp_path / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)]).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield mount
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_raises_nothing_and_is_noted_when_there_is_room_again(small_disk):
    journal = paths.Journal(str(small_disk / "journal.jsonl"), node="n")
    (small_disk / "ballast").write_bytes(b"x" * 40_000)
    stored = [journal.append(Event(float(i), "beat", "n", 0, {"fill": "y" * 100})) for i in range(400)]
    assert stored[0] and not stored[-1]
    (small_disk / "ballast").unlink()
    assert journal.append(Event(1000.0, "end", "n"))
    journal.close()
    tail = paths.Tail(journal.path)
    events = paths.events_of(tail)
    dropped = [e for e in events if e.kind == "dropped"]
    assert [e.data["events"] for e in dropped] == [stored.count(False)]
    assert "No space left" in dropped[0].data["why"] and events[-1].kind == "end"
    assert len(events) == stored.count(True) + 2 and tail.garbage <= 1


def test_a_failed_replace_keeps_the_old_file(small_disk):
    path = str(small_disk / "state.json")
    paths.write_json(path, {"state": "running"})
    with pytest.raises(OSError):
        paths.write_json(path, {"state": "x" * 200_000})
    assert paths.read_json(path) == {"state": "running"} and os.listdir(small_disk) == ["state.json"]


def test_lines_keeps_other_objects_too(tmp_path):
    lines = paths.Lines(str(tmp_path / "processes.jsonl"))
    assert lines.append({"pid": 1})
    lines.close()
    assert json.loads((tmp_path / "processes.jsonl").read_text()) == {"pid": 1}


def fill(disk) -> None:
    with open(disk / "ballast", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_an_order_to_save_and_stop_arrives_on_a_full_disk(small_disk):
    directory = paths.RunDirectory("r1", str(small_disk / "home"))
    directory.create(keeper=True)
    with open(directory.keeper.reserve, "wb") as file:
        file.write(b"r" * 8192)
    fill(small_disk)
    with pytest.raises(OSError, match="No space"):
        paths.write_json(directory.keeper.state, {"state": "running"})
    stop.leave(directory, {"why": "asked", "save": True})
    assert paths.read_json(directory.keeper.stop) == {"why": "asked", "save": True}
    assert not os.path.exists(directory.keeper.reserve)


@pytest.mark.parametrize("before", [None, "an earlier request"])
def test_a_touched_file_is_seen_on_a_full_disk(small_disk, before):
    request = small_disk / "save-request"
    if before is not None:
        request.write_text(before)
        os.utime(request, (1, 1))
    seen = stack_dumps.mark(str(request))
    fill(small_disk)
    files.touch(str(request))
    assert stack_dumps.mark(str(request)) not in (seen, None)
    assert sorted(os.listdir(small_disk)) == ["ballast", "save-request"]


def test_a_file_whose_read_fails_counts_as_none():
    assert files.read_bytes("/proc/self/mem") == b"" and paths.read_object("/proc/self/mem") == {}


def test_a_mark_that_the_disk_had_no_room_for_leaves_no_empty_one(tmp_path, monkeypatch):
    directory = paths.RunDirectory("r-1", str(tmp_path))

    def full(descriptor, data):
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(paths.os, "write", full)
        with pytest.raises(OSError, match="no space"):
            directory.create()
    assert not os.path.lexists(directory.marker)
    directory.create()
    assert directory.is_marked()
