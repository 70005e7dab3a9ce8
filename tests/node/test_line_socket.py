"""Lines that a rank's file refuses reach the supervisor over a socket; whoever else sends there is not heard."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allranks.node import paths, processes, run_reader
from allranks.node.line_socket import LINE_BYTES
from allranks.node.ranks import Ranks
from allranks.worker.rank_journal import Journal

SOURCE = Path(__file__).resolve().parents[2] / "src"
SITE = "from allranks.worker.activation import activate; activate()\n"
RANK = "import time\nwhile True:\n    time.sleep(60)\n"
TORCHRUN = """
import os, subprocess, sys
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
sys.exit(subprocess.call([sys.executable, sys.argv[1]]))
"""
SEND = """
import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(sys.stdin.buffer.read(), b"\\0" + sys.argv[1].encode())
"""


def line(kind: str, rank: int = 3, **data: object) -> str:
    return json.dumps({"at": 5.0, "kind": kind, "node": "somebody", "rank": rank, "data": data})


@pytest.fixture
def ranks(tmp_path):
    """A node whose folder for lines is not there."""
    found = Ranks("node-0", str(tmp_path / "gone"))
    yield found
    found.close()


def journal(ranks: Ranks) -> Journal:
    return Journal(os.path.join(ranks.folder, "rank-3.jsonl"), ranks.mailbox.address)


def start() -> str:
    return line("start", pid=os.getpid(), start_time=processes.start_time(os.getpid()))


def test_what_the_file_refuses_is_heard_and_the_file_is_taken_again_when_it_can_be(ranks):
    lines = journal(ranks)
    assert lines.write(start()) and lines.refused == "No such file or directory"
    assert lines.write(line("beat", phase="training"))
    heard = ranks.read()
    assert [(e.kind, e.node, e.rank) for e in heard] == [("start", "node-0", 3), ("beat", "node-0", 3)]
    assert [one.rank for one in ranks.watched] == [3]
    os.mkdir(ranks.folder)
    assert lines.write(line("beat", phase="done")) and lines.refused == ""
    assert [e.data for e in ranks.read()] == [{"phase": "done"}]
    assert len(Path(lines.path).read_text().splitlines()) == 1


def test_another_process_is_not_taken_for_a_rank(ranks):
    lines = journal(ranks)
    lines.write(start())
    said = [line("end", code=0), start(), "no JSON", "[]", line("beat", rank=4)]
    for text in said:
        words = [sys.executable, "-I", "-S", "-c", SEND, ranks.mailbox.address]
        subprocess.run(words, input=text.encode(), check=True, timeout=60)
    assert [e.kind for e in ranks.read()] == ["start"]


def test_a_line_that_is_cut_is_dropped_and_nobody_waits_for_a_reader(ranks):
    lines = journal(ranks)
    lines.write(start())
    assert ranks.read()
    sent = sum(lines.write(line("beat", text="x" * 60000)) for _ in range(2000))
    assert 0 < sent < 2000, "a queue that is full refuses"
    assert 0 < len(ranks.read()) <= sent
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LINE_BYTES)
        try:
            sender.sendto(b" " * (LINE_BYTES + 1), b"\0" + ranks.mailbox.address.encode())
        except OSError:
            pass  # this system sends none that is so long
    assert ranks.read() == []


def test_without_a_supervisor_a_line_is_not_written(tmp_path):
    assert not Journal(str(tmp_path / "gone" / "rank-3.jsonl"), "allranks-nobody").write("{}")
    assert not Journal(str(tmp_path / "gone" / "rank-3.jsonl")).write("{}")


# ---- a real rank whose disk is taken away ----


@pytest.fixture
def small(home):
    """The home of the node on a small disk of its own."""
    home.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", str(home)], check=True, timeout=60)
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True, timeout=60)


def begin(field, tmp_path):
    """A supervisor, and below it a rank with our own code in it and no torch."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    (tmp_path / "rank.py").write_text(RANK)
    argv = [sys.executable, "-c", TORCHRUN, str(tmp_path / "rank.py")]
    field.supervise(argv, inside=str(site), env={"PYTHONPATH": str(SOURCE)}, beat_seconds=0.1)
    field.wait_for("beat")


def beats(field):
    return [event["data"] for event in list(field.events) if event["kind"] == "beat"]


def goes_on_beating(field, why):
    """Ten beats that the disk refused, heard by the keeper while the rank lives."""

    def refused():
        return len([beat for beat in beats(field) if beat.get("refused") == why]) >= 10

    field.until(refused, f"ten beats that the disk refused; heard {beats(field)[-3:]}")
    assert not any(event["kind"] in ("rank-gone", "stopping") for event in field.events)


@pytest.mark.lengthy
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_rank_whose_disk_is_full_goes_on_beating_and_its_end_is_heard(small, field, tmp_path):
    begin(field, tmp_path)
    fill = small / "fill"
    with fill.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"x" * 4096)
    goes_on_beating(field, "No space left on device")
    fill.unlink()
    field.until(lambda: "refused" not in beats(field)[-1], "a beat that is written again")
    field.say(stop=0.5)
    assert field.wait_for("rank-gone")["rank"] == 0 and field.wait_for("swept")["data"]["left"] == []


@pytest.mark.lengthy
def test_a_rank_whose_run_folder_is_removed_goes_on_beating(field, tmp_path):
    begin(field, tmp_path)
    temporary = paths.read_object(os.path.join(field.node.root, "temporary.json"))["path"]
    shutil.rmtree(field.directory.root)
    goes_on_beating(field, "No such file or directory")
    disks = field.wait_for("sample")["data"]["disks"]
    assert {"path": field.node.root, "gone": True} in disks
    field.say(stop=0.5)
    assert field.wait_for("rank-gone")["rank"] == 0 and field.wait_for("swept")["data"]["left"] == []
    assert not os.path.exists(temporary), "its record is gone, and the supervisor knows what it made"


# ---- who reads the head's files ----


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_full_disk_of_the_head_is_told_to_who_follows(small):
    directory = paths.RunDirectory("r1")
    directory.create(node="node-0", keeper=True)
    keeper = processes.record_of(processes.identify("node-0", "r1"))
    paths.write_json(directory.keeper.identity, {"process": keeper, "port": 1})
    paths.write_json(directory.keeper.state, {"id": "r1", "state": "running", "started_at": 5.0})
    paths.write_text(directory.keeper.journal, "{}\n")
    assert "unwritten" not in run_reader.status("r1")
    with (small / "fill").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"x" * 4096)
    folder = os.path.dirname(directory.keeper.journal)
    assert run_reader.status("r1")["unwritten"] == f"the disk of {folder} is full"
    first = next(iter(run_reader.follow("r1", ["keeper/journal.jsonl"])))
    assert (first["text"], first["unwritten"]) == ("", f"the disk of {folder} is full")


def test_a_wrong_field_is_left_out_and_told_once(ranks):
    lines = Journal(os.path.join(ranks.folder, "rank-3.jsonl"))
    os.mkdir(ranks.folder)
    assert lines.write(start()) and lines.write(line("beat", step="x")) and lines.write(line("beat", step=[]))
    assert lines.write(line("beat", step=4))
    told = ranks.read()
    assert [e.kind for e in told] == ["start", "beat", "refused", "beat", "beat"]
    assert {e.rank for e in told} == {3} and [told[n].data for n in (1, 3, 4)] == [{}, {}, {"step": 4}]
    assert "beat: step: 'x' is not a whole number" in told[2].payload.why
    assert lines.write(line("start", world_size=10**9)) and [e.kind for e in ranks.read()] == ["start"]


@pytest.mark.parametrize("text", ['{"at": NaN, "kind": "beat", "data": {}}', '{"at": 5.0}', "no JSON", "3"])
def test_what_nobody_can_read_is_a_sign_of_life_of_its_rank(ranks, text):
    os.mkdir(ranks.folder)
    lines = Journal(os.path.join(ranks.folder, "rank-3.jsonl"))
    for _ in range(2):
        assert lines.write(text)
        beat = ranks.read()[0]
        assert (beat.kind, beat.rank, beat.node, beat.data) == ("beat", 3, ranks.node, {})
        assert abs(time.time() - beat.at) < 60


def test_what_a_rank_tells_is_of_now_at_the_latest(ranks):
    lines = Journal(os.path.join(ranks.folder, "rank-3.jsonl"))
    os.mkdir(ranks.folder)
    assert lines.write(json.dumps({"at": 9e10, "kind": "beat", "rank": 7, "data": {}}))
    (event,) = ranks.read()
    assert event.at <= time.time() and event.rank == 3
