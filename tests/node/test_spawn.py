"""What torchrun's log says when it ends, and the environment it begins with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.core import BadInput
from allranks.core.messages import Place
from allranks.core.node_events import Failure
from allranks.node import bundle, paths, spawn, sweep, waiting_torchrun
from tests.harness.cost import cost

TABLE = """\
E1121 02:08:55.185000 14210 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fail.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-21_02:08:55
  host      : localhost
  rank      : 6 (local_rank: 2)
  exitcode  : 3 (pid: 14217)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
[2]:
  time      : 2026-11-21_02:08:55
  host      : localhost
  rank      : 4 (local_rank: 0)
  exitcode  : -15 (pid: 14215)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 14215
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-21_02:08:55
  host      : localhost
  rank      : 5 (local_rank: 1)
  exitcode  : -9 (pid: 14216)  (SIGKILL)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 14216
============================================================
"""
NONE_BUT_ONE = TABLE[: TABLE.index("[1]:")] + "  <NO_OTHER_FAILURES>\n" + TABLE[TABLE.index("-----\nRoot") :]


def test_failures_come_with_the_first_one_first(tmp_path):
    (tmp_path / "log").write_text(TABLE)
    assert spawn.failures(str(tmp_path / "log")) == [
        Failure(rank=5, local_rank=1, code=-9, pid=14216),
        Failure(rank=6, local_rank=2, code=3, pid=14217),
        Failure(rank=4, local_rank=0, code=-15, pid=14215),
    ]


def test_one_failure_alone(tmp_path):
    (tmp_path / "log").write_text(NONE_BUT_ONE)
    assert [failure.rank for failure in spawn.failures(str(tmp_path / "log"))] == [5]


def test_the_last_table_counts_and_none_from_before_the_attempt(tmp_path):
    log = tmp_path / "log"
    log.write_text(TABLE + "x" * 10)
    offset = log.stat().st_size
    assert spawn.failures(str(log), offset) == []
    log.write_text(TABLE + "second attempt\n" + NONE_BUT_ONE.replace("rank      : 5", "rank      : 7"))
    assert [failure.rank for failure in spawn.failures(str(log))] == [7]


def test_a_log_of_any_size_or_none_is_read(tmp_path):
    log = tmp_path / "log"
    assert spawn.failures(str(log)) == []
    log.write_bytes(b"\xff" * (2 * spawn.TABLE_BYTES) + b"\n" + TABLE.encode())
    assert len(spawn.failures(str(log))) == 3


def test_what_a_rank_prints_like_a_table_neither_holds_the_supervisor_up_nor_ends_it(tmp_path):
    log = tmp_path / "log"
    log.write_text("\nFailures:\n" + "\n" * spawn.TABLE_BYTES)
    assert spawn.failures(str(log)) == []
    assert cost(lambda: spawn.failures(str(log)), enough=1) < 1
    log.write_text(TABLE.replace("rank      : 4", f"rank      : {'9' * 5000}"))
    assert [failure.rank for failure in spawn.failures(str(log))] == [5, 6]


def test_ours_wins_over_the_jobs_and_the_jobs_over_the_machines(tmp_path):
    job = {"run_id": "r1", "env": {"ALLRANKS_RUN_ID": "forged", "PATH": "/job", "N": 3}, "secrets": ["TOKEN"]}
    directory = paths.NodeDirectory(str(tmp_path), "node-0")
    env = spawn.environment(
        job, directory, {"TOKEN": "t"}, {"PATH": "/machine", "HOME": "/h", "SLURM_JOB_ID": "1"}
    )
    assert (env["ALLRANKS_RUN_ID"], env["PATH"], env["HOME"], env["N"], env["TOKEN"]) == (
        "r1",
        "/job",
        "/h",
        "3",
        "t",
    )
    assert "SLURM_JOB_ID" not in env and "PYTHONPATH" not in env
    assert spawn.environment({"run_id": "r1"}, directory, {}, {})["PATH"] == os.defpath


SCRIPT = """
import os, signal, sys, time
import multiprocessing
print("hello from rank", os.environ["RANK"], flush=True)
multiprocessing.get_context("fork").Process(target=time.sleep, args=(100,)).start()
time.sleep(1.5)
if os.environ["RANK"] == "1" and sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(100)
"""


@pytest.mark.training
@pytest.mark.parametrize("how", ["die", "stop"])
def test_a_real_torchrun_with_the_bundle_in_its_ranks(field, tmp_path, how):
    """Two ranks with loaders: one killed, or the run stopped; nothing is left, and the culprit is named."""
    (tmp_path / "train.py").write_text(SCRIPT)
    argv = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    argv += [str(tmp_path / "train.py"), how]
    field.supervise(argv, inside=bundle.install(), grace_seconds=5)
    assert {field.wait_for("start", 40, count)["rank"] for count in (1, 2)} == {0, 1}
    if how == "stop":
        field.say(stop=5)
    ended = field.wait_for("torchrun-ended", 40)["data"]
    swept = field.wait_for("swept", 60)["data"]
    assert swept["left"] == []
    gone = {event.rank: event.data for event in field.journal("rank-gone")}
    if how == "die":
        assert ended["code"] == 1
        assert (ended["failures"][0]["rank"], ended["failures"][0]["code"]) == (1, -9)
        # torchrun looks every 0.1 s, and takes its code from us where we come later
        assert gone[1].get("code", -9) == -9 and gone[1]["pid"] == ended["failures"][0]["pid"]
    else:
        # torchrun waits for a rank that it stops, and may have taken its code before we look
        assert ended["code"] != 0 and gone[0].get("code", -15) == -15
    assert "hello from rank 0" in paths.read_text(field.node.rank_log(0))
    field.supervisor.kill()
    field.supervisor.wait()
    assert sweep.sweep(field.run_id, dry_run=True)["processes"] == []


FAKE = """
import json, os, sys
def main():
    told = {"argv": sys.argv[1:], "env": os.environ.get("WORD"), "attempt": os.environ.get("ALLRANKS_ATTEMPT")}
    told.update(cwd=os.getcwd(), pid=os.getpid(), session=os.getsid(0))
    open(os.environ["TOLD"], "w").write(json.dumps(told))
"""


@pytest.fixture
def torchrun(home, tmp_path):
    package = tmp_path / "packages" / "torch" / "distributed"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "run.py").write_text(FAKE)
    directory = paths.RunDirectory("run-1121-abcd", str(home))
    directory.create(node="a")
    (tmp_path / "work").mkdir()
    job = {
        "run_id": "run-1121-abcd",
        "argv": [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--node-rank=0",
            "--nproc-per-node=1",
            "t.py",
        ],
        "env": {"PYTHONPATH": str(package.parents[1]), "TOLD": str(tmp_path / "told"), "WORD": "x"},
        "cwd": str(tmp_path / "work"),
        "restarts": 1,
    }
    made = spawn.Torchrun(job, directory.node("a"), {})
    yield made
    made.close()
    if made._child is not None:
        made._child.kill()
        made._child.wait()
    made.temporary.remove(os.geteuid())


def test_a_torchrun_that_waits_becomes_the_next_attempt(torchrun, tmp_path):
    torchrun.make_ready(1)
    waiting = torchrun._ready
    assert os.getsid(waiting.pid) == os.getsid(0)
    torchrun.more = {"ALLRANKS_ATTEMPT": "1"}
    torchrun.place = Place(node_rank=2, ranks=[4, 5])
    torchrun.start()
    assert torchrun.pid == waiting.pid
    assert torchrun._child.wait(60) == 0
    told = json.loads((tmp_path / "told").read_text())
    assert told["argv"] == ["--node-rank=2", "--nproc-per-node=2", "t.py"]
    assert (told["env"], told["attempt"], told["cwd"]) == ("x", "1", str(tmp_path / "work"))
    assert told["session"] == told["pid"] == waiting.pid


def test_home_stands_for_the_nodes_own_in_the_folder_and_the_script(torchrun, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    torchrun.job["argv"][-1:] = ["~/work/t.py", "~/kept"]
    torchrun.job.update(cwd="~/work", script="~/work/t.py")
    torchrun.make_ready(1)
    torchrun.start()
    assert torchrun._child.wait(60) == 0
    told = json.loads((tmp_path / "told").read_text())
    assert told["cwd"] == str(tmp_path / "work")
    assert told["argv"][-2:] == [str(tmp_path / "work" / "t.py"), "~/kept"]


def test_every_node_has_the_output_folder_of_the_run_directory(torchrun, tmp_path):
    folder = Path(torchrun.directory.root).parents[1] / "output"
    torchrun.job["env"]["ALLRANKS_OUTPUT_DIR"] = str(folder)
    torchrun.start()
    assert torchrun._child.wait(60) == 0
    assert (folder.is_dir(), folder.stat().st_mode & 0o777) == (True, 0o700)


def test_a_folder_that_save_to_names_is_left_to_the_keeper_and_the_trainer(torchrun, tmp_path):
    torchrun.job["env"]["ALLRANKS_OUTPUT_DIR"] = str(tmp_path / "named")
    torchrun.start()
    assert torchrun._child.wait(60) == 0
    assert not (tmp_path / "named").exists()


def test_a_folder_that_is_not_there_is_named_if_it_was_asked_for(torchrun, tmp_path):
    torchrun.job.update(cwd=str(tmp_path / "gone"), cwd_named=True)
    with pytest.raises(BadInput, match=r"train.workdir: the folder .*/gone is not on this node"):
        torchrun.start()
    assert torchrun.pid == 0


def test_else_the_runs_own_folder_stands_in(torchrun, tmp_path):
    """A module in a container's image: the run file's folder is not in it."""
    torchrun.job["cwd"] = str(tmp_path / "gone")
    torchrun.make_ready(1)
    torchrun.start()
    assert torchrun._child.wait(60) == 0
    assert json.loads((tmp_path / "told").read_text())["cwd"] == torchrun.directory.work


def test_one_that_has_died_is_done_without(torchrun, tmp_path):
    torchrun.make_ready(1)
    died = torchrun._ready
    died.kill()
    died.wait()
    torchrun.start()
    assert torchrun.pid != died.pid
    assert torchrun._child.wait(60) == 0


def test_without_restarts_none_waits_and_close_ends_it(torchrun):
    torchrun.job = {**torchrun.job, "restarts": 0}
    torchrun.make_ready(1)
    assert torchrun._ready is None
    torchrun.job = {**torchrun.job, "restarts": 1}
    torchrun.make_ready(2)
    assert torchrun._ready is None, "all restarts are used"
    torchrun.make_ready(1)
    child = torchrun._ready
    torchrun.close()
    assert child.returncode is not None and torchrun._ready is None


def test_one_that_ended_while_it_waited_is_made_again_and_not_for_ever(torchrun):
    pids = set()
    for _ in range(waiting_torchrun.READY_TRIES):
        torchrun.make_ready(1)
        assert torchrun.next_is_ready
        pids.add(torchrun._ready.pid)
        torchrun._ready.kill()
        torchrun._ready.wait()
        assert not torchrun.next_is_ready
    assert len(pids) == waiting_torchrun.READY_TRIES
    torchrun.make_ready(1)
    assert not torchrun.next_is_ready
    torchrun.start()
    torchrun.make_ready(1)
    assert torchrun.next_is_ready, "the next attempt has its own"


@pytest.mark.parametrize("begin", ["close", "_from_ready"])
def test_one_that_no_signal_ends_holds_nobody(torchrun, begin):
    waits = []

    def wait(timeout=None):
        waits.append(timeout)
        raise subprocess.TimeoutExpired("python", timeout)

    def gone(*_):
        raise BrokenPipeError

    torchrun._ready = SimpleNamespace(
        kill=lambda: None, wait=wait, poll=lambda: None, stdin=SimpleNamespace(write=gone, close=gone)
    )
    assert (torchrun.close() if begin == "close" else torchrun._from_ready(["p"], {}, "/")) is None
    assert waits == [waiting_torchrun.END_SECONDS]


def test_one_that_reads_nothing_is_given_its_words_and_none_that_do_not_fit(torchrun, monkeypatch):
    monkeypatch.setattr(waiting_torchrun, "_READY", "import time; time.sleep(30)")
    torchrun.job = {**torchrun.job, "env": {"MUCH": "x" * 200_000}}
    torchrun.make_ready(1)
    waiting = torchrun._ready
    assert (
        torchrun.next_is_ready
        and not waiting_torchrun.order(waiting, "x" * (2 << 20))
        and waiting.poll() is None
    )
    torchrun.close()
    torchrun.job["env"]["MUCH"] = "x" * (2 << 20)
    torchrun.make_ready(1)
    assert not torchrun.next_is_ready
