"""One-shot reading and following: state, files from any offset, nothing outside the run directory."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import shutil
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput, Diagnosis, Where
from allranks.node import journal, paths, processes, run_reader, stop
from allranks.output import console, table
from tests.harness import until


@pytest.fixture
def run(home):
    """A run that has ended, on its head."""
    directory = paths.RunDirectory("r1")
    directory.create(node="node-0", keeper=True)
    paths.write_json(
        directory.keeper.state, {"id": "r1", "name": "demo", "state": "succeeded", "started_at": 5.0}
    )
    return directory


def keeper_is(directory, **changes):
    record = processes.record_of(processes.identify("node-0", directory.run_id))
    paths.write_json(directory.keeper.identity, {"process": {**record, **changes}, "port": 1})


def test_status_is_the_keepers_state_with_who_lives(run):
    keeper_is(run)
    status = run_reader.status("r1")
    assert (status["state"], status["name"], status["keeper_alive"]) == ("succeeded", "demo", True)
    assert status["directory"] == run.root and status["supervisors"] == {
        "node-0": {"alive": None, "pid": None}
    }
    assert {"id", "name", "state", "nodes", "step", "adapter", "findings", "directory"} <= set(status)


@pytest.mark.parametrize(
    "written, keeper, told",
    [
        ("running", {"start_time": 1}, "lost"),
        ("checking", {"boot_id": "the boot before"}, "lost"),
        ("running", {}, "running"),
        ("failed", {"start_time": 1}, "failed"),
        ("running", {"host": "another", "start_time": 1}, "running"),
        ("running", {"pid_namespace": "pid:[1]", "start_time": 1}, "running"),
    ],
    ids=["gone", "rebooted", "alive", "ended", "other-host", "container"],
)
def test_a_run_is_lost_only_where_its_keeper_can_be_seen_to_be_gone(run, written, keeper, told):
    paths.write_json(run.keeper.state, {"state": written})
    keeper_is(run, **keeper)
    assert run_reader.status("r1")["state"] == told


def test_silence_of_a_keeper_that_cannot_be_seen_is_unknown_and_never_lost(run):
    """A full disk silences the journal of a run that trains on, in a container or on another host."""
    paths.write_json(run.keeper.state, {"state": "running"})
    keeper_is(run, pid_namespace="pid:[1]")
    paths.write_text(run.keeper.journal, "{}\n")
    assert run_reader.status("r1")["state"] == "running"
    os.utime(run.keeper.journal, (time.time() - 1000, time.time() - 1000))
    found = run_reader.status("r1")
    assert found["state"] is None and found["silent_seconds"] > 900
    assert "has written nothing for" in found["why"] and found.get("diagnosis") is None
    assert run_reader.has_ended(run), "following it ends: nothing comes"
    assert stop.request("r1")["asked"], "whoever wants it stopped still reaches it"


def test_a_lost_run_says_that_its_keeper_died_and_whether_the_machine_did(run):
    paths.write_json(run.keeper.state, {"state": "running", "step": 5})
    keeper_is(run, start_time=1)
    found = run_reader.status("r1")["diagnosis"]
    assert (found["cause"], found["where"]["node"]) == ("supervisor-lost", "node-0")
    assert "wrote no last state" in found["evidence"][0]
    keeper_is(run)
    assert run_reader.status("r1").get("diagnosis") is None, "it lives"
    keeper_is(run, boot_id="the boot before")
    assert run_reader.status("r1")["diagnosis"]["cause"] == "node-failure"


def test_a_lost_run_is_not_blamed_on_what_ended_an_earlier_attempt(run):
    told = Diagnosis("cuda-oom", "certain", Where(rank=3)).as_json()
    keeper_is(run, start_time=1)
    for of_earlier, cause in ((True, "supervisor-lost"), (False, "cuda-oom")):
        paths.write_json(run.keeper.state, {"state": "running", "diagnosis": told, "of_earlier": of_earlier})
        assert run_reader.status("r1")["diagnosis"]["cause"] == cause


def test_runs_come_newest_first_and_odd_folders_are_no_runs(run, home):
    newer = paths.RunDirectory("r2")
    newer.create(keeper=True)
    paths.write_json(newer.keeper.state, {"state": "failed", "started_at": 9.0})
    other_node = paths.RunDirectory("r0")
    other_node.create(node="node-1")
    (home / "runs" / ".hidden").mkdir()
    (home / "runs" / "a file").write_text("")
    paths.write_text(run.keeper.state, "half a js")
    states = [(entry["id"], entry["state"]) for entry in run_reader.runs()]
    assert set(states) == {("r2", "failed"), ("r1", None), ("r0", None)}
    started = [entry["started_at"] for entry in run_reader.runs()]
    assert started == sorted(started, reverse=True)


def test_there_may_be_no_runs_at_all(home):
    assert run_reader.runs() == []
    with pytest.raises(BadInput, match="no run r9"):
        run_reader.status("r9")


def put(run, path, data):
    full = os.path.join(run.root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as file:
        file.write(data)


def test_chunks_from_any_offset(run):
    put(run, "nodes/node-0/logs/rank-0.log", b"0123456789")
    path = "nodes/node-0/logs/rank-0.log"
    ends = {"offset": 0, "next_offset": 10, "size_bytes": 10, "first_line": 0, "last_line": 10}
    whole = {"path": path, "text": "0123456789", **ends}
    assert run_reader.chunk("r1", path) == whole
    assert run_reader.chunk("r1", path, 4, 3)["text"] == "456"
    assert run_reader.chunk("r1", path, -3)["text"] == "789"
    assert run_reader.chunk("r1", path, -99)["offset"] == 0
    assert run_reader.chunk("r1", path, 99) == {**whole, "offset": 10, "text": "", "first_line": 10}
    assert run_reader.chunk("r1", path, 2, -5)["text"] == ""


def test_the_bytes_of_line_breaks_are_those_of_the_file(run):
    """Of bytes that are not UTF-8, the text has characters of another length."""
    path = "nodes/node-0/logs/rank-0.log"
    put(run, path, b"\xe9\xff\nsecond\n\xff\xfe half")
    found = run_reader.chunk("r1", path)
    assert (found["first_line"], found["last_line"], found["next_offset"]) == (3, 10, 17)
    found = run_reader.chunk("r1", path, 10, 4)
    assert (found["first_line"], found["last_line"]) == (10, 14), "no line break in it"


@settings(max_examples=40)
@given(st.text(max_size=40), st.integers(1, 7))
def test_chunks_put_together_are_the_file_whatever_characters_are_cut(tmp_path_factory, text, size):
    directory = paths.RunDirectory("r1", str(tmp_path_factory.getbasetemp()))
    directory.create()
    put(directory, "log", text.encode("utf-8"))
    reader, offset, pieces = run_reader.Reader(directory), 0, []
    while True:
        piece = reader.chunk("log", offset, size + 3)
        pieces.append(piece.text)
        offset = piece.next_offset
        if not piece.text:
            break
    assert "".join(pieces) == text and offset == len(text.encode())


@pytest.mark.parametrize(
    "path", ["../r2/x", "/etc/passwd", "nodes/../../x", "", ".", "a//b", "nodes/./x", "x\0y", "nodes/"]
)
def test_no_path_leads_out_of_the_run_directory(run, path):
    with pytest.raises(BadInput, match="not a path below"):
        run_reader.chunk("r1", path)


def test_no_link_leads_out_of_the_run_directory(run, tmp_path):
    (tmp_path / "secret").write_text("x")
    os.symlink(tmp_path, os.path.join(run.root, "folder"))
    os.symlink(tmp_path / "secret", os.path.join(run.root, "file"))
    os.mkfifo(os.path.join(run.root, "fifo"))
    for path in ("folder/secret", "file", "fifo", "nodes", "missing"):
        with pytest.raises(OSError):
            run_reader.chunk("r1", path)
    assert [entry["path"] for entry in run_reader.listing("r1")["files"]] == [
        ".allranks-run",
        "keeper/state.json",
    ]


def test_a_listing_is_sorted_and_bounded(run, monkeypatch):
    for name in "cab":
        put(run, f"nodes/node-0/logs/{name}.log", b"12")
    files = run_reader.listing("r1")["files"]
    assert [entry["path"] for entry in files] == sorted(entry["path"] for entry in files) and len(files) == 5
    assert files[-1]["size_bytes"] == 2 and files[-1]["modified_at"] > 1e9
    monkeypatch.setattr(run_reader, "FILES", 2)
    assert run_reader.listing("r1")["truncated"] is True and len(run_reader.listing("r1")["files"]) == 2


def test_folders_nested_without_end_do_not_stop_a_listing(run):
    deep = os.path.join(run.root, *["d"] * 200)
    os.makedirs(deep)
    paths.write_text(os.path.join(deep, "x"), "")
    assert len(run_reader.listing("r1")["files"]) == 2


def test_following_an_ended_run_tells_all_and_ends(run):
    put(run, "keeper/journal.jsonl", b"one\ntwo\n")
    put(run, "nodes/node-0/logs/rank-0.log", b"zero")
    put(run, "nodes/node-0/logs/rank-1.log", b"one")
    assert list(run_reader.follow("r1", ["keeper/journal.jsonl"], {"keeper/journal.jsonl": 4})) == [
        {"path": "keeper/journal.jsonl", "offset": 4, "text": "two\n"}
    ]
    texts = {piece["path"][-5]: piece["text"] for piece in run_reader.follow("r1", ["nodes/*/logs/*.log"])}
    assert texts == {"0": "zero", "1": "one"}
    assert list(run_reader.follow("r1", ["no/such/file", "none*"])) == []


def test_a_run_whose_folder_is_removed_is_followed_to_the_end_of_its_processes(run, monkeypatch):
    paths.write_json(run.keeper.state, {"state": "running"})
    keeper_is(run)
    put(run, "keeper/journal.jsonl", b"one\n")
    turns = []

    def sleep(_seconds):
        turns.append(1)
        if len(turns) == 1:
            shutil.rmtree(run.root)
        elif len(turns) == 4:
            monkeypatch.setattr(processes, "lives", lambda _record: False)

    monkeypatch.setattr(run_reader.time, "sleep", sleep)
    told = list(run_reader.follow("r1", ["keeper/journal.jsonl"]))
    assert len(turns) == 4 and told[0]["text"] == "one\n" and "is gone" in told[1]["unwritten"]


def test_a_large_file_is_followed_in_pieces(run, monkeypatch):
    monkeypatch.setattr(run_reader, "CHUNK_BYTES", 1000)
    put(run, "big.log", bytes(range(65, 91)) * 200)
    pieces = list(run_reader.follow("r1", ["big.log"]))
    assert "".join(piece["text"] for piece in pieces) == (bytes(range(65, 91)) * 200).decode()
    assert [piece["offset"] for piece in pieces] == [0, 1000, 2000, 3000, 4000, 5000]


@pytest.mark.parametrize("offset", [0, 3, -4])
def test_following_a_live_run_gives_what_comes_until_its_end(run, offset):
    keeper_is(run)
    paths.write_json(run.keeper.state, {"state": "running"})
    put(run, "log", b"begin ")
    texts = []

    def reader():
        texts.extend(piece["text"] for piece in run_reader.follow("r1", ["log"], {"log": offset}))

    thread = threading.Thread(target=reader)
    thread.start()
    until(lambda: texts)  # an offset from the end is one from the end that it finds
    with open(os.path.join(run.root, "log"), "ab", buffering=0) as log:
        for word in (b"one ", b"\xc3", b"\xa4 ", b"end"):
            time.sleep(0.08)
            log.write(word)
        paths.write_json(run.keeper.state, {"state": "succeeded"})
    thread.join(60)
    assert not thread.is_alive()
    assert "".join(texts) == "begin one ä end"[offset if offset >= 0 else 2 :]


def test_following_ends_with_its_reader(run):
    keeper_is(run)
    paths.write_json(run.keeper.state, {"state": "running"})
    looks = itertools.count()
    assert list(run_reader.follow("r1", ["log"], gone=lambda: next(looks) > 1)) == []


def test_following_ends_with_the_directory_of_processes_that_are_gone(run, monkeypatch):
    keeper_is(run)
    paths.write_json(run.keeper.state, {"state": "running"})
    stream = run_reader.follow("r1", ["log"])
    put(run, "log", b"x")
    assert next(stream)["text"] == "x"
    shutil.rmtree(run.root)
    monkeypatch.setattr(processes, "lives", lambda _record: False)
    assert list(stream) == []


def test_following_another_nodes_directory_ends_with_its_supervisor(field):
    field.supervise(field.tree(name="torchrun", print="hello", wait=0.2, exit=0))
    field.wait_for("torchrun")
    bye = threading.Thread(target=lambda: (field.wait_for("swept"), field.say(bye=True)))
    bye.start()
    stream = list(run_reader.follow(field.run_id, ["nodes/*/logs/torchrun.log", "nodes/*/journal.jsonl"]))
    bye.join()
    assert field.supervisor.wait(40) == 0
    text = "".join(piece["text"] for piece in stream if piece["path"].endswith("torchrun.log"))
    journal = "".join(piece["text"] for piece in stream if piece["path"].endswith("journal.jsonl"))
    assert text == "hello\n"
    assert json.loads(journal.splitlines()[-1])["kind"] == "swept"


DAMAGED = ["10" * 200, "1e400", "-1e400", "NaN", '"x"', "[]", "{}", "true", "null", "[[1]]"]


@pytest.mark.parametrize("value", DAMAGED)
def test_one_damaged_state_takes_no_other_run_away(run, value):
    """Every key of it, one after the other; what every face shows of a run is read from the answer."""
    damaged = paths.RunDirectory("r2")
    damaged.create(node="node-0", keeper=True)
    keys = ("name", "state", "why", "step", "total_steps", "nodes", "findings", "diagnosis", "adapter")
    for key in (*keys, "started_at", "ended_at"):
        with open(damaged.keeper.state, "w") as file:
            file.write(f'{{"name": "two", "started_at": 7.0, "{key}": {value}}}')
        found = run_reader.runs()
        assert sorted(entry["id"] for entry in found) == ["r1", "r2"]
        table.print_runs(found, console.Out(io.StringIO()))
        two = next(entry for entry in found if entry["id"] == "r2")
        assert isinstance(two["started_at"], (int, float)) and math.isfinite(two["started_at"])
        assert isinstance(two["nodes"], list) and isinstance(two["findings"], list)
        assert not (two.get("ended_at") or 0.0) > 1e18


@pytest.mark.parametrize("value", DAMAGED)
def test_a_damaged_keeper_record_takes_no_run_away(run, value):
    with open(run.keeper.identity, "w") as file:
        file.write(f'{{"process": {value}}}')
    assert [entry["id"] for entry in run_reader.runs()] == ["r1"]


def test_absurd_integers_are_read_as_nothing(tmp_path):
    path = tmp_path / "x.json"
    long = "9" * 400
    path.write_text(f'{{"a": {long}, "b": [-{long[:20]}, 7], "c": "{long}", "d": 1.5}}')
    assert paths.read_json(str(path)) == {"a": None, "b": [None, 7], "c": "9" * 400, "d": 1.5}
    path.write_text(path.read_text() + "\n")
    assert journal.Tail(str(path)).read() == [{"a": None, "b": [None, 7], "c": "9" * 400, "d": 1.5}]
