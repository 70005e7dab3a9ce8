"""Ranks on standby: which processes wait, what torchrun gets of them, and that none is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.core import standby
from allranks.node import order_pipe, standby_ranks
from tests.harness import ROOT, until

WAITS = """
import json, os, sys
from types import SimpleNamespace
if "SAYS_NOTHING" in os.environ:
    __import__("time").sleep(600)
from allranks.worker import standby
rank = SimpleNamespace(notes=[])
standby.stand_by(rank)
told = {"argv": sys.argv, "word": os.environ.get("WORD"), "gone": os.environ.get("GONE"), "cwd": os.getcwd(),
        "leads": os.getsid(0) == os.getpid(), "notes": rank.notes, "handle": os.environ.get("ALLRANKS_STANDBY_HANDLE"),
        "ahead": "colorsys" in sys.modules, "master": os.environ.get("MASTER_PORT"),
        "locale": os.environ.get("LC_CTYPE")}
open(sys.argv[1], "w").write(json.dumps(told))
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Any:
    """Makes one process on standby that tells of itself when it begins."""
    (tmp_path / "waits.py").write_text(WAITS)
    import colorsys

    known = {"modules": [["colorsys", colorsys.__file__], ["not_there_any_more", "/gone.py"]]}
    (tmp_path / "imports.json").write_text(json.dumps(known))
    words = [sys.executable, "-u", str(tmp_path / "waits.py"), "{resume}"]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/src", "GONE": "x", "WORD": "a"}
    env[standby.LIST] = str(tmp_path / "imports.json")
    made: list[standby_ranks.OnStandby] = []

    def make(**more: str) -> tuple[standby_ranks.Standby, list[str], dict[str, str]]:
        made.append(standby_ranks.OnStandby(words, 3, {**env, **more}))
        return standby_ranks.Standby({0: made[-1]}), words, {**env, **more}

    yield make
    for one in made:
        one.process.kill()
        one.process.wait()


def test_torchrun_gets_the_process_that_waited(waiting: Any, tmp_path: Path, monkeypatch: Any) -> None:
    ready, words, env = waiting(LC_CTYPE="C.UTF-8")
    process = ready.waiting[0].process
    assert os.getsid(process.pid) == os.getsid(0), "until its attempt it is in the supervisor's session"
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    env = {**env, "MASTER_PORT": "29500", "ALLRANKS_ATTEMPT": "1"}
    del env["LC_CTYPE"]  # Python sets it for itself
    child = ready.take(0, [*words[:3], str(tmp_path / "told"), "--more"], env)
    assert child is process and child.wait(60) == 0
    told = json.loads((tmp_path / "told").read_text())
    assert told["argv"] == [words[2], str(tmp_path / "told"), "--more"]
    assert (told["word"], told["gone"], told["master"]) == ("a", "x", "29500")
    assert told["locale"] == "C.UTF-8"
    assert (told["cwd"], told["leads"], told["handle"], told["ahead"]) == (
        str(tmp_path / "work"),
        True,
        None,
        True,
    )
    assert told["notes"] == ["standby: this process had imported its libraries before the attempt began"]
    assert ready.take(0, words, env) is None, "each is given once"


@pytest.mark.parametrize(
    "change",
    [
        lambda words, env: (["/other/python", *words[1:]], env),
        lambda words, env: ([words[0], "-m", *words[2:]], env),
        lambda words, env: ([*words[:2], "/another/script.py", *words[3:]], env),
        lambda words, env: (words, {**env, "WORD": "b"}),
        lambda words, env: (words, {name: env[name] for name in env if name != "GONE"}),
        lambda words, env: (words, {**env, "HF_HOME": "/data"}),
        lambda words, env: (words, {**env, "RANK": "7"}),
    ],
)
def test_one_that_could_have_imported_something_else_is_not_used(waiting: Any, change: Any) -> None:
    ready, words, env = waiting()
    process = ready.waiting[0].process
    assert ready.take(0, *change(words, env)) is None
    assert process.returncode is not None, "and is gone"


def test_one_that_is_not_ready_in_time_is_not_used(waiting: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(standby_ranks, "PATIENCE_SECONDS", 0.2)
    ready, words, env = waiting(SAYS_NOTHING="1")
    process = ready.waiting[0].process
    assert ready.take(0, words, env) is None
    assert process.returncode is not None


def test_one_that_cannot_import_what_was_imported_is_not_used(waiting: Any, tmp_path: Path) -> None:
    (tmp_path / "imports.json").write_text(json.dumps({"modules": [["colorsys", "/somewhere/else.py"]]}))
    ready, words, env = waiting()
    process = ready.waiting[0].process
    assert ready.take(0, words, env) is None
    assert process.returncode == 1


@pytest.mark.parametrize("takes", [True, False])
def test_one_that_took_a_gpu_while_it_imported_does_not_wait(
    waiting: Any, tmp_path: Path, takes: bool
) -> None:
    """It would hold memory that this attempt's ranks need."""
    source = tmp_path / "torch.py"
    source.write_text(
        f"from types import SimpleNamespace\ncuda = SimpleNamespace(is_initialized=lambda: {takes})\n"
    )
    (tmp_path / "imports.json").write_text(json.dumps({"modules": [["torch", str(source)]]}))
    one = waiting()[0].waiting[0]
    assert one.is_ready(60.0) is not takes
    assert not takes or one.process.wait(60) == 1


def test_close_ends_those_that_wait(waiting: Any) -> None:
    ready, _, _ = waiting()
    process = ready.waiting[0].process
    ready.close()
    assert process.returncode is not None and ready.waiting == {}


PARENT = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from allranks.node import order_pipe, standby_ranks
one = standby_ranks.OnStandby([sys.executable, "-u", sys.argv[2], "x"], 3, dict(os.environ))
print(one.process.pid, flush=True)
one.is_ready(60.0)
print("ready", flush=True)
time.sleep(600)
"""


def test_they_end_with_the_one_that_would_have_become_torchrun(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "imports.json").write_text('{"modules": []}')
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/src", standby.LIST: str(tmp_path / "imports.json")}
    words = [sys.executable, "-c", PARENT, f"{ROOT}/src", str(tmp_path / "waits.py")]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
    until(lambda: not alive(pid), seconds=60)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.parametrize(
    ("command", "words", "count"),
    [
        ("/env/bin/python", ["-u", "train.py", "--lr", "1"], 3),
        ("/env/bin/python3.11", ["-u", "-m", "llamafactory.launcher", "a.yaml"], 4),
        ("python", ["train.py"], 2),
        ("/bin/bash", ["train.sh"], None),
        ("python", ["-X", "dev", "train.py"], None),
        ("python", ["-u"], None),
        (len, ["train.py"], None),
    ],
)
def test_what_python_has_read_while_it_waits(command: Any, words: list[str], count: int | None) -> None:
    assert standby_ranks.head_of(command, words) == count


def test_torchrun_starts_what_nobody_has_ready(monkeypatch: Any) -> None:
    class Handler:
        _stdout = _stderr = None
        local_rank_id = 1

        def _popen(self, args: Any, env: Any) -> str:
            return "torchrun's own"

    asked = []
    ready = SimpleNamespace(take=lambda *words: asked.append(words) or None)
    standby_ranks.lend(Handler, ready)
    handler: Any = Handler()
    assert handler._popen(("python",), {"A": "b"}) == "torchrun's own"
    assert asked == [(1, ("python",), {"A": "b"})]
    handler._stdout = object()
    assert handler._popen(("python",), {}) == "torchrun's own"
    assert len(asked) == 1, "its output would go elsewhere"
    ready.take = lambda *words: "the one that waited"
    handler._stdout = None
    assert handler._popen(("python",), {}) == "the one that waited"


@pytest.mark.parametrize("text", [None, "", "[]", '{"modules": []}', "{"])
def test_without_a_list_none_waits(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "imports.json").write_text(text)
    order = {"list": str(tmp_path / "imports.json"), "words": ["x"], "ranks": [0], "world_size": 1}
    assert standby_ranks.begin(SimpleNamespace(), order).waiting == {}


def test_those_of_a_node_know_their_places(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time; time.sleep(600)")
    (tmp_path / "imports.json").write_text('{"modules": [["json", "x"]]}')
    run = SimpleNamespace(
        parse_args=lambda words: words,
        config_from_args=lambda words: (None, sys.executable, ["-u", str(tmp_path / "waits.py")]),
    )
    order = {"list": str(tmp_path / "imports.json"), "words": [], "ranks": [4, 5], "world_size": 8}
    ready = standby_ranks.begin(run, order)
    try:
        places = [[ready.waiting[n].env[name] for name in standby.PLACE] for n in (0, 1)]
        assert places == [["4", "0", "8", "2"], ["5", "1", "8", "2"]]
    finally:
        begun = time.monotonic()
        ready.close()
    assert time.monotonic() - begun < 60


def test_none_is_left_if_one_of_them_cannot_be_started(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "waits.py").write_text("import time; time.sleep(600)")
    (tmp_path / "imports.json").write_text('{"modules": [["json", "x"]]}')
    run = SimpleNamespace(
        parse_args=lambda words: words,
        config_from_args=lambda words: (None, sys.executable, ["-u", str(tmp_path / "waits.py")]),
    )
    begun: list[Any] = []
    popen = subprocess.Popen

    def refuses_the_second(*words: Any, **named: Any) -> Any:
        if begun:
            raise BlockingIOError("no process is left to this user")
        begun.append(popen(*words, **named))
        return begun[0]

    monkeypatch.setattr(subprocess, "Popen", refuses_the_second)
    before = set(os.listdir("/proc/self/fd"))
    order = {"list": str(tmp_path / "imports.json"), "words": [], "ranks": [0, 1], "world_size": 2}
    with pytest.raises(BlockingIOError):
        standby_ranks.begin(run, order)
    assert begun[0].poll() is not None
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_pipe_that_may_not_be_widened_is_used_as_it_is(monkeypatch: Any) -> None:
    def refused(*_: Any) -> int:
        raise PermissionError(1, "the user's pipes hold as much as they may")

    monkeypatch.setattr(order_pipe.fcntl, "fcntl", refused)
    order_pipe.widen(0)
