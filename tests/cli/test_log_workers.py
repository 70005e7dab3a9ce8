"""Large logs on all cores: the answer is that of one process, also where a worker dies."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

from allranks.cli import diagnose_verb, log_workers
from allranks.cli.log_files import Log

STEPS = "".join(f"[rank1] step {n} loss 2.{n}\n" for n in range(40))
CRASH = "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/a.py\", line 3\n[rank2]: KeyError: 'labels'\n"


@pytest.fixture
def logs(tmp_path):
    for name, text in (
        ("a.log", STEPS),
        ("b.log", STEPS + CRASH),
        ("c.log", "\x00\x01\x02" * 50),
        ("d.log", ""),
    ):
        (tmp_path / name).write_text(text)
    return [Log(str(path), (str(path),)) for path in sorted(tmp_path.iterdir())]


def items(logs, notes):
    return list(log_workers.scanned(logs, {}, notes, diagnose_verb.scanner()))


@pytest.fixture
def on_two_cores(monkeypatch):
    monkeypatch.setattr(log_workers, "cores", lambda: 2)
    monkeypatch.setattr(log_workers, "WORTH_BYTES", 0)
    monkeypatch.setattr(log_workers, "may_fork", lambda: True)


def test_workers_find_what_one_process_finds(logs, on_two_cores, monkeypatch):
    notes, alone = [], []
    found = items(logs, notes)
    monkeypatch.setattr(log_workers, "cores", lambda: 1)
    assert found == items(logs, alone) and len(found) > 3
    assert notes == alone and "not read" in notes[0]


def test_a_log_whose_worker_died_is_read_here(logs, on_two_cores, monkeypatch):
    monkeypatch.setattr(log_workers, "work", lambda *_: os._exit(9))
    broken = []
    found = items(logs, broken)
    monkeypatch.setattr(log_workers, "cores", lambda: 1)
    assert found == items(logs, [])


def test_nothing_is_left_of_workers(logs, on_two_cores, monkeypatch):
    monkeypatch.setattr(log_workers, "work", lambda *_: time.sleep(60))
    with log_workers.Workers(logs, {}, 2, diagnose_verb.scanner()) as workers:
        pids = set(workers.of.values())
        folder = workers.folder.name
    assert len(pids) == 2 and not os.path.exists(folder)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            pytest.fail(f"{pid} lives: {os.kill(pid, 0)}")
