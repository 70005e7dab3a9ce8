"""What the keeper writes down, and how often: many findings at once must not hold it up."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.core import WARN, Diagnosis, Finding, Where
from allranks.core.events import told
from allranks.core.rank_events import Beat
from allranks.core.run_events import Adapter, Phase, Resume
from allranks.node.paths import RunDirectory
from allranks.node.processes import identify
from allranks.runs import keeper_record
from allranks.runs.keeper_alerts import MOST_FINDINGS, Alerts
from allranks.runs.keeper_record import Record

RUN = "kept-1121-abcd"


class Clock:
    """A clock that writing alone moves."""

    def __init__(self) -> None:
        self.now, self.writes, self.write_seconds = 100.0, 0, 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1e9 + self.now


@pytest.fixture
def clock(monkeypatch) -> Iterator[Clock]:
    found, write = Clock(), keeper_record.write_json

    def counted(path: str, value: object) -> None:
        found.writes += 1
        found.now += found.write_seconds
        write(path, value)

    monkeypatch.setattr(keeper_record, "time", found)
    monkeypatch.setattr(keeper_record, "write_json", counted)
    yield found


@pytest.fixture
def record(clock: Clock, tmp_path: Path) -> Record:
    directory = RunDirectory(RUN, str(tmp_path))
    directory.create(node="a", keeper=True)
    return Record(directory, {"run_id": RUN, "node": "a", "keep": {"name": "kept"}}, ["a"])


def finding(rank: int) -> Finding:
    return Finding(id="loss-nan", verdict=WARN, where=Where("a", rank), saw="the loss is nan")


def written(record: Record) -> dict:
    return json.loads(Path(record.directory.keeper.state).read_text())


def test_a_finding_stands_in_the_state_at_once(record: Record, clock: Clock) -> None:
    record.finding(finding(0))
    assert len(written(record)["findings"]) == 1


def test_findings_of_8000_ranks_are_written_once_and_all_of_them(record: Record, clock: Clock) -> None:
    for rank in range(8000):
        record.finding(finding(rank))
    record.flush()
    assert clock.writes == 1
    clock.now += keeper_record.STATE_EVERY_SECONDS
    record.flush()
    assert clock.writes == 2 and len(written(record)["findings"]) == 8000


def test_the_next_attempt_may_say_the_same_again(record: Record) -> None:
    for _ in range(2):
        record.finding(finding(3))
        record.finding(finding(3))
        record.forget_attempt()
    assert len(record.state_now["findings"]) == 2


def test_a_large_state_is_written_more_seldom(record: Record, clock: Clock) -> None:
    clock.write_seconds, began = 2.0, clock.now
    for second in range(600):
        record.finding(finding(second))
        clock.now = max(clock.now, began + second)
    spent = clock.writes * clock.write_seconds
    assert spent <= keeper_record.WRITE_SHARE * (clock.now - began) + clock.write_seconds


def test_what_somebody_waits_for_is_written_at_once(record: Record, clock: Clock) -> None:
    record.finding(finding(0))
    record.state("running")
    assert written(record)["state"] == "running"
    record.diagnosis(Diagnosis("rank-sigkilled", "likely", Where("a", 0)))
    assert written(record)["diagnosis"]["cause"] == "rank-sigkilled"


def test_the_first_word_of_a_failure_is_no_message_of_its_own(record: Record, clock: Clock) -> None:
    verdict, heard = Diagnosis("rank-sigkilled", "likely", Where("a", 0), evidence=("killed",)), []
    record.alerts = Alerts({}, {}, {"run": RUN})
    record.alerts._add = lambda key, data: heard.append(data["id"])
    record.first_word(verdict)
    assert heard == [] and written(record)["diagnosis"]["provisional"] is True
    record.diagnosis(verdict)
    record.finding(verdict.as_finding())
    record.end("failed")
    assert heard == ["rank-sigkilled", "run-failed"] and "provisional" not in written(record)["diagnosis"]


@pytest.mark.parametrize("state", ["failed", "stopped", "succeeded"])
def test_no_first_word_outlives_the_run(record: Record, clock: Clock, state: str, monkeypatch) -> None:
    told: list = []
    alerts = SimpleNamespace(end=lambda state, diagnosis, why: told.append(diagnosis))
    monkeypatch.setattr(record, "alerts", alerts)
    record.first_word(Diagnosis("rank-sigkilled", "likely", Where("a", 0)))
    record.end(state)
    assert told == [None] and written(record)["diagnosis"] is None


@pytest.mark.parametrize("forget", ["forget_attempt", "drop_first_word"])
def test_an_earlier_attempts_verdict_stands_again_after_a_first_word(
    record: Record, clock: Clock, forget: str
) -> None:
    record.diagnosis(Diagnosis("node-failure", "likely", Where("a")))
    record.first_word(Diagnosis("rank-sigkilled", "likely", Where("a", 0)))
    getattr(record, forget)()
    record.flush(now=True)
    assert written(record)["diagnosis"]["cause"] == "node-failure"


def test_nothing_is_unwritten_at_the_end(record: Record, clock: Clock) -> None:
    record.end("failed", "the run failed")
    record.adapter(Adapter(path="/out"))
    record.finding(finding(1))
    record.close()
    assert written(record)["adapter"] == {"path": "/out"} and len(written(record)["findings"]) == 1


def test_a_message_holds_a_hundred_findings_and_counts_the_rest(monkeypatch) -> None:
    sent: list[dict] = []
    alerts = Alerts({}, {}, {"run": RUN})
    alerts.command = ["true"]
    monkeypatch.setattr(alerts, "_start", lambda body: sent.append(json.loads(body)) or "")
    alerts._waiting = [finding(rank).as_json() for rank in range(8000)]
    alerts._send_waiting()
    assert len(sent[0]["findings"]) == MOST_FINDINGS and sent[0]["folded"] == 8000 - MOST_FINDINGS
    assert "7997 more" in sent[0]["text"]


class Full:
    """A journal whose disk takes nothing."""

    path, error = "/runs/kept/keeper/journal.jsonl", "No space left on device (errno 28)"

    def append(self, event: object) -> bool:
        return False


def test_a_journal_that_cannot_be_written_is_said_once_to_whoever_gets_the_alerts(record: Record) -> None:
    told: list[dict] = []
    record.alerts = SimpleNamespace(finding=told.append)  # type: ignore[assignment]
    record.journal = Full()  # type: ignore[assignment]
    for step in range(5):
        record.note(Phase(phase=str(step)))
    assert [data["id"] for data in told] == ["journal-unwritten"]
    assert "No space left on device" in told[0]["saw"] and told[0]["where"]["node"] == "a"
    assert [data["id"] for data in record.state_now["findings"]] == ["journal-unwritten"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_run_that_ends_on_a_full_disk_says_how(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", str(small)], check=True, timeout=60)
    try:
        directory = RunDirectory(RUN, str(small))
        directory.create(node="a", keeper=True)
        made = Record(directory, {"run_id": RUN, "node": "a", "keep": {"name": "kept"}}, ["a"])
        made.begin(identify("a", RUN), 1)
        with (small / "fill").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(b"x" * 4096)
        made.state("running")
        for rank in range(100):
            made.finding(finding(rank))
        assert written(made)["state"] == "starting", "nothing can be written"
        made.end("succeeded")
        assert written(made)["state"] == "succeeded" and len(written(made)["findings"]) == 101
        last = [json.loads(line) for line in Path(directory.keeper.journal).read_text().splitlines()][-2:]
        assert [event["kind"] for event in last] == ["dropped", "state"]
        assert last[1]["data"]["state"] == "succeeded"
        assert not Path(directory.keeper.reserve).exists()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True, timeout=60)


def beat(record: Record, rank: int, step: int, total: int = 1000) -> None:
    record.event(told(Beat(phase="training", step=step, total_steps=total), "a", rank, at=1.0))


def test_the_step_goes_back_with_another_attempt(record: Record, clock: Clock) -> None:
    beat(record, 0, 900)
    record.forget_attempt({"path": "/out/checkpoint-500", "step": 500})
    record.flush(now=True)
    assert written(record)["step"] is None
    beat(record, 1, 900)  # a late one of the attempt before
    record.note(Resume(from_="/out/checkpoint-500", step=500))
    beat(record, 1, 510)
    record.flush(now=True)
    assert written(record)["step"] == 510
    said = [json.loads(line) for line in Path(record.directory.keeper.journal).read_text().splitlines()]
    found = [event["data"] for event in said if event["kind"] == "resume"]
    assert [(one["from"], one["step"]) for one in found] == [("/out/checkpoint-500", 500)] * 2


def test_the_step_is_the_lowest_ranks_and_goes_back_with_a_second_training(
    record: Record, clock: Clock
) -> None:
    for rank, step in ((3, 899), (0, 900), (3, 901)):
        beat(record, rank, step)
    assert record.state_now["step"] == 900
    beat(record, 0, 3, 50)
    beat(record, 3, 901, 50)
    assert (record.state_now["step"], record.state_now["total_steps"]) == (3, 50)


@pytest.mark.parametrize(
    ("ahead", "moved"), [(-570.0, -570.0), (5400.0, 5400.0), (0.0, 0.0), (2.5, 0.0), (None, 0.0)]
)
def test_what_came_before_the_launch_gets_the_times_of_this_clock(
    clock: Clock, tmp_path: Path, ahead: float | None, moved: float
) -> None:
    """`ahead`: this machine's clock, compared with that of the machine that started the run."""
    directory = RunDirectory(RUN, str(tmp_path))
    directory.create(node="a", keeper=True)
    sent_at = clock.time() if ahead is None else clock.time() - ahead
    before = [
        told(Phase(phase=name), at=sent_at - ago).as_json() for name, ago in (("check", 30), ("launch", 1))
    ]
    keep = {"before": before, **({} if ahead is None else {"sent_at": sent_at})}
    Record(directory, {"run_id": RUN, "node": "a", "keep": keep}, ["a"]).begin(identify("a", RUN), 1)
    said = [json.loads(line) for line in Path(directory.keeper.journal).read_text().splitlines()]
    assert [event["at"] for event in said] == [event["at"] + moved for event in before]
    assert said[-1]["at"] <= clock.time()
