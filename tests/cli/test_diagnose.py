"""The verb `diagnose` on files, folders and standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks import cli
from allranks.cli import log_files
from allranks.core import Diagnosis, Where
from allranks.node import paths, processes
from allranks.node.stall_evidence import wchan
from tests.harness import Harness, free_port

CRASH = """[rank0]: step 1 loss 3.1
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]: ModuleNotFoundError: No module named 'tensorboard'
"""
FINE = "\n".join(f"[rank{r}]: step {s} loss {3 - s / 10}" for s in range(9) for r in range(2)) + "\n"


def test_a_cause_is_named_with_its_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.log").write_text(CRASH)
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["cause"] == "missing-python-module"
    assert answer["where"]["rank"] == 1


def test_a_healthy_log_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.log").write_text(FINE + "{'train_runtime': 12.5, 'train_loss': 2.1, 'epoch': 1.0}\n")
    assert cli.main(["diagnose", str(tmp_path / "run.log")]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_a_log_that_is_only_cut_off_is_not_called_fine(tmp_path: Path, capsys) -> None:
    (tmp_path / "run.log").write_text(FINE)
    assert cli.main(["diagnose", str(tmp_path / "run.log")]) == 3
    said = capsys.readouterr().out
    assert "nothing is wrong" not in said and "may be cut off" in said


def test_the_json_of_a_log_that_is_only_cut_off_says_so(tmp_path: Path, capsys) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("step 3 loss 1.0\n")
    assert cli.main(["diagnose", "--json", str(log)]) == 3
    told = json.loads(capsys.readouterr().out)
    assert "may be cut off" in told["why"] and told["fix"] != "Nothing."


def test_the_json_of_exceptions_before_a_success_asks_to_look_at_the_result(tmp_path: Path, capsys) -> None:
    log = tmp_path / "x.log"
    failed = "Traceback (most recent call last):\n  File \"/r/a.py\", line 1, in f\nKeyError: 'owl'\n"
    log.write_text(
        "step 3 loss 1.0\n" * 20 + failed + "2026-11-20 - INFO - pipeline completed successfully\n"
    )
    assert cli.main(["diagnose", "--json", str(log)]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["why"].endswith("KeyError: 'owl'") and "result" in told["fix"]


def test_a_good_end_tells_the_errors_on_the_way(tmp_path: Path, capsys) -> None:
    log = tmp_path / "x.log"
    log.write_text("ERROR: owl 7 failed\n" + "step 3 loss 1.0\n" * 20 + "Training completed successfully!\n")
    assert cli.main(["diagnose", str(log)]) == 0
    said = capsys.readouterr().out
    assert "nothing is wrong" not in said and "reached its end" in said and "owl 7 failed" in said


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("Epoch [2/2], Step [90/90], loss: 1.0\n", "the last of all steps"),
        ("Epoch [1/2], Step [90/90], loss: 1.0\n", "may be cut off"),
        ("Epoch [2/2], Step [90/90], loss: 1.0\n" + "an owl\n" * 30, "may be cut off"),
    ],
)
def test_the_last_step_of_all_is_told(step: str, said: str, tmp_path: Path, capsys) -> None:
    log = tmp_path / "x.log"
    log.write_text("Epoch [1/2], Step [3/90], loss: 1.0\n" * 9 + step)
    assert cli.main(["diagnose", str(log)]) == 3
    assert said in capsys.readouterr().out


def test_an_empty_log_is_told_beside_others(tmp_path: Path, capsys) -> None:
    (tmp_path / "rank0.log").write_text("step 3 loss 1.0\n" * 20 + "Training completed successfully!\n")
    (tmp_path / "rank1.log").write_text("")
    assert cli.main(["diagnose", str(tmp_path)]) == 0  # the streams of healthy jobs are often empty
    assert f"empty: {tmp_path / 'rank1.log'}" in capsys.readouterr().err


def test_other_ranks_logs_are_asked_for_where_there_are_ranks(tmp_path: Path, capsys) -> None:
    log = tmp_path / "x.log"
    log.write_text("an owl\n" * 30)
    assert cli.main(["diagnose", str(log)]) == 3
    assert "LOGS-OF-ALL-OTHER-RANKS" not in capsys.readouterr().out
    assert cli.main(["diagnose", str(log), str(log)]) == 3
    assert "LOGS-OF-ALL-OTHER-RANKS" in capsys.readouterr().out


def test_a_native_abort_is_not_called_fine(tmp_path: Path) -> None:
    abort = "terminate called after throwing an instance of 'c10::Error'\nAborted (core dumped)\n"
    (tmp_path / "run.log").write_text(FINE + abort)
    assert cli.main(["diagnose", str(tmp_path / "run.log")]) == 1


def test_an_empty_name_is_bad_input_and_not_this_folder(home: Path, capsys) -> None:
    assert cli.main(["diagnose", ""]) == 2
    assert "an empty name" in capsys.readouterr().err


def test_what_may_not_be_read_is_bad_input_with_all_its_places(tmp_path: Path, capsys, monkeypatch) -> None:
    """Root may read everything: what another user meets is put in the place of `open` and `scandir`."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "run.log").write_text(FINE)
    (tmp_path / "other.log").write_text(FINE)

    def opened(name, *words, **more):
        if str(name).endswith("other.log"):
            raise PermissionError(13, "Permission denied", str(name))
        return open(name, *words, **more)

    def scanned(place):
        if str(place).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    scandir = os.scandir
    monkeypatch.setattr(log_files, "open", opened, raising=False)
    monkeypatch.setattr(os, "scandir", scanned)
    assert cli.main(["diagnose", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "other.log: Permission denied" in said and "shut: Permission denied" in said


def test_what_is_no_path_and_no_run_is_bad_input(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diagnose", "no-such-run"]) == 2
    assert "no-such-run" in capsys.readouterr().err


def test_an_empty_log_beside_another_one_changes_no_answer(tmp_path: Path, capsys) -> None:
    fed = [f"fed owl {n} with {7 * n} mice\n" for n in range(30)]
    failed = "Traceback (most recent call last):\n  File \"/r/feed.py\", line 7, in go\nKeyError: 'owl'\n"
    (tmp_path / "job.out").write_text("".join([*fed[:20], failed, *fed[20:]]))
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 3
    alone = json.loads(capsys.readouterr().out)
    (tmp_path / "job.err").write_text("")
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["why"] == alone["why"] and "goes on after it" in alone["why"]


def test_a_folder_without_logs_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diagnose", str(tmp_path)]) == 2
    assert "no file in this folder is named as a log" in capsys.readouterr().err
    (tmp_path / "output").write_text(CRASH)
    assert cli.main(["diagnose", str(tmp_path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"give any other log itself: {tmp_path / 'output'}" in said
    assert cli.main(["diagnose", str(tmp_path / "output")]) == 1


# ---- a job that runs now ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to read"),
        (["--pid", "7", "node1"], "--pid beside nodes"),
        (["--live", "--seconds", "1000"], "at most 120"),
        (["--slurm-job", "x;y"], "not a job's number"),
        (["--live", "no/such/file"], "no such file"),
    ],
)
def test_a_look_that_makes_no_sense_is_bad_input(words: list[str], said: str, capsys) -> None:
    assert cli.main(["diagnose", *words]) == 2
    assert said in capsys.readouterr().err


RANK = """
import sys, time, os
sys.path.insert(0, os.path.dirname(__file__))
if os.environ["RANK"] == "1":
    time.sleep(600)
from torch.distributed import wait
wait()
"""


@pytest.mark.lengthy
def test_a_job_on_this_machine_is_looked_at_and_left_alone(tmp_path: Path, capsys, monkeypatch) -> None:
    """Three processes that stand as ranks do; without torch."""
    (tmp_path / "torch" / "distributed").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "distributed" / "__init__.py").write_text(
        "import time\ndef wait():\n    time.sleep(600)\n"
    )
    (tmp_path / "rank.py").write_text(RANK)
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    settings = {"WORLD_SIZE": "3", "MASTER_PORT": str(free_port()), "PATH": os.environ["PATH"]}
    with Harness(tmp_path) as harness:
        for rank in range(3):
            words = [sys.executable, str(tmp_path / "rank.py")]
            harness.begin(words, env={**settings, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        pids = [child.pid for child in harness.children]
        harness.until(lambda: all("sleep" in (wchan(pid) or "") for pid in pids))
        assert cli.main(["diagnose", "--pid", str(pids[0]), "--seconds", "0.4", "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert (answer["where"]["rank"], answer["confidence"]) == (1, "certain")
        assert answer["where"]["file"] == str(tmp_path / "rank.py") and answer["where"]["line"] == 5
        assert [one["moved"] for one in answer["jobs"][0]["ranks"]] == [False] * 3
        assert all(child.poll() is None for child in harness.children)
        assert not (tmp_path / "home").exists()
        assert cli.main(["diagnose", "--pid", str(pids[0]), "--seconds", "0.4"]) == 1
        said = capsys.readouterr().out
        assert "rank 1" in said and "rank.py:5" in said and "ranks 0,2" in said


def test_a_terminal_that_lacks_a_sign_gets_it_spelt_out_and_no_fault(tmp_path: Path) -> None:
    """Also a file's name that would set the terminal's title."""
    (tmp_path / "\x1b]0;x\x07rank-0.log").write_text(
        "10%|\u2588 | 1/9\nRuntimeError: CUDA out of memory \u2588\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from allranks.cli import main; sys.exit(main())", "diagnose", tmp_path],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and b"\x1b" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("cause", "told"),
    [("cuda-oom", "cuda-oom"), ("supervisor-lost", "supervisor-lost"), ("of-a-newer-version", "unproven")],
)
def test_the_verdict_of_a_lost_run_is_read_whatever_is_in_it(
    home: Path, capsys, cause: str, told: str
) -> None:
    directory = paths.RunDirectory("lora-0101-aaaa")
    directory.create(node="node-0", keeper=True)
    gone = {**processes.record_of(processes.identify("node-0", directory.run_id)), "start_time": 1}
    paths.write_json(directory.keeper.identity, {"process": gone, "port": 1})
    found = Diagnosis(
        cause, "certain", Where("node-1", 3), collateral=(Where("node-0", 0),), why="because"
    ).as_json()
    state = {"state": "running", "nodes": ["node-0"], "diagnosis": {**found, "new": 1}}
    paths.write_json(directory.keeper.state, state)
    code = cli.main(["diagnose", directory.run_id, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["cause"], code) == (told, 3 if told == "unproven" else 1)
    assert answer["collateral"][0]["rank"] == 0 and cause in answer["why"] + answer["cause"]
    assert cli.main(["diagnose", directory.run_id]) == code and "node-1" in capsys.readouterr().out


def test_of_hundreds_of_logs_the_first_lines_of_each_are_compared(tmp_path: Path, capsys) -> None:
    sizes = "RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 564 vs 488"
    failed = f'Traceback (most recent call last):\n  File "/app/train.py", line 12, in <module>\n{sizes}\n'
    for rank in range(300):
        words = f"vocabulary of {29 if rank == 290 else 27}\n" + "filling words\n" * 60
        (tmp_path / f"rank_{rank}.log").write_text(words + failed)
    assert cli.main(["diagnose", "--json", str(tmp_path)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["cause"], answer["where"]["rank"]) == ("collective-mismatch", 290)
    assert any("only rank 290 says" in line for line in answer["evidence"])
