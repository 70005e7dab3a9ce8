"""The node program's verbs as a caller sees them: one JSON document, an exit code, errors in words."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys

import pytest

from allranks.node import paths, program


@pytest.fixture
def call(home, monkeypatch, capsys):
    """Runs a verb in this process; its exit code and its document."""

    def call(*words, stdin=b""):
        body = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
        code = program.main(words)
        out = capsys.readouterr().out
        assert out.count("\n") == 1
        return code, json.loads(out)

    return call


def test_put_writes_text_and_json_and_makes_the_run(call, home):
    files = {"run.json": {"a": 1}, "nodes/node-0/job.json": "text"}
    code, answer = call("put", "r1", stdin={"files": files})
    assert code == 0 and answer["files"] == ["nodes/node-0/job.json", "run.json"]
    directory = paths.RunDirectory("r1")
    assert (
        paths.read_json(directory.run) == {"a": 1} and paths.read_text(directory.node("node-0").job) == "text"
    )
    assert directory.is_marked()
    assert stat.S_IMODE(os.stat(directory.run).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(directory.node("node-0").root).st_mode) == 0o700


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".hidden", "a//b", ""])
def test_put_writes_nothing_where_one_path_leads_out(call, home, path):
    code, answer = call("put", "r1", stdin={"files": {"good": "x", path: "x"}})
    assert code == 2 and "not a valid name for a file" in answer["error"] and answer["problems"][0]["do"]
    assert not os.path.exists(paths.RunDirectory("r1").root)


def test_put_follows_no_link(call, home, tmp_path):
    directory = paths.RunDirectory("r1")
    directory.create()
    os.symlink(tmp_path, os.path.join(directory.root, "out"))
    code, answer = call("put", "r1", stdin={"files": {"out/x": "x"}})
    assert code == 1 and "errno" in answer and not os.path.exists(tmp_path / "x")


def test_faults_are_documents_too(call):
    assert call("dance") == (
        2,
        {"error": "'dance' is not a verb.\n  fix  one of " + VERBS, "problems": [NO_VERB]},
    )
    assert call()[0] == 2
    assert call("read", "tea")[0] == 2
    assert call("read", "status")[0] == 2
    assert call("read", "status", "../r1")[0] == 2
    assert call("read", "chunk", "r1", "x", "many")[0] == 2
    assert call("put", "r1", stdin=b"[1]")[0] == 2
    assert call("put", "r1", stdin=b"\xff")[0] == 2


VERBS = (
    "version, facts, start, order, read, follow, stop, sweep, put, clean, code, environment, probe, ray, command, "
    "conda, image, checkpoints"
)
NO_VERB = {"file": None, "line": None, "saw": "'dance' is not a verb.", "why": "", "do": "one of " + VERBS}


def test_reading_goes_through_every_form(call, home):
    call("put", "r1", stdin={"files": {"run.json": "0123456789"}})
    assert call("read", "runs")[1]["runs"][0]["id"] == "r1"
    assert call("read", "status", "r1")[1]["state"] is None
    assert {entry["path"] for entry in call("read", "listing", "r1")[1]["files"]} == {
        ".allranks-run",
        "run.json",
    }
    assert call("read", "chunk", "r1", "run.json", "-4", "2")[1]["text"] == "67"
    assert call("read", "chunk", "r1", "missing")[0] == 1


def test_stop_says_when_asking_is_no_use(call, home):
    call("put", "r1", stdin={"files": {}})
    assert call("stop", "r1")[1]["why"] == "its keeper is not on this node"
    assert call("stop", "r1", "--direct")[1]["processes"] == []
    assert call("sweep", "r1", "--dry-run")[1]["dry_run"] is True
    assert call("clean", "r1")[1]["removed"] == paths.RunDirectory("r1").root
    assert call("stop", "r1")[0] == 2


@pytest.fixture
def following(home):
    """`follow` of a run that lives as long as this test."""
    from allranks.node import processes

    directory = paths.RunDirectory("r1")
    directory.create(keeper=True)
    me = processes.record_of(processes.identify("node-0", "r1"))
    paths.write_json(directory.keeper.identity, {"process": me, "port": 1})
    paths.write_json(directory.keeper.state, {"state": "running"})
    paths.write_text(os.path.join(directory.root, "log"), "0123456789")
    words = [sys.executable, "-m", "allranks.node", "follow", "r1", "log", "--from", "log", "4"]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    yield directory, program
    program.kill()
    program.wait()
    program.stdout.close()
    program.stderr.close()


def test_follow_prints_lines_as_they_come_and_ends_with_the_run(following):
    directory, program = following
    assert json.loads(program.stdout.readline()) == {"path": "log", "offset": 4, "text": "456789"}
    with open(os.path.join(directory.root, "log"), "a") as log:
        log.write("ab")
    assert json.loads(program.stdout.readline()) == {"path": "log", "offset": 10, "text": "ab"}
    paths.write_json(directory.keeper.state, {"state": "failed"})
    assert program.stdout.readline() == b"" and program.wait(40) == 0


def test_follow_ends_when_nobody_listens_any_more_though_nothing_comes(following):
    _, program = following
    program.stdout.readline()
    program.stdout.close()
    assert program.wait(60) == 0
    assert program.stderr.read() == b""
