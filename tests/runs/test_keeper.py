"""The keeper against supervisors that only speak the link: what it starts, stops, says and writes."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.core import Diagnosis, Event, Where
from allranks.launch.jobs import LEASE_SECONDS
from allranks.node.paths import write_json
from allranks.runs import keeper, keeper_listener, keeper_restart, keeper_saves
from allranks.runs.keeper import Keeper
from allranks.runs.keeper_attempt import Attempt, State
from tests.checkpoints.test_kinds import torch_file
from tests.harness import until
from tests.harness.keeper import KeptRun, Supervisor

pytestmark = pytest.mark.lengthy


@pytest.fixture
def stage(home: Path, tmp_path: Path) -> Iterator:
    with contextlib.ExitStack() as stages:
        yield lambda **expect: stages.enter_context(KeptRun(home, tmp_path, **expect))


def healthy_end(supervisors: list[Supervisor], trained: bool = True, step: int = 1) -> None:
    for rank, one in enumerate(supervisors):
        if trained:
            one.say("beat", rank, step=step, phase="training", steps=[])
        one.say("end", rank, code=0)
        one.say("torchrun-ended", code=0, failures=[])
        one.say("swept", why="torchrun ended")


def test_it_starts_all_together_and_ends_well(stage) -> None:
    s = stage()
    both = s.both()
    for one in both:
        one.hear("start")
    both[0].say("beat", 0, step=3, total_steps=3, phase="training", steps=[])
    healthy_end(both, step=3)
    both[0].hear("bye")
    state = s.end()
    assert (state["state"], state["step"]) == ("succeeded", 3)
    assert Path(s.directory.keeper.report).read_text().startswith("<p>")


def test_nothing_starts_when_a_node_does_not_join(stage) -> None:
    s = stage(keep={"join_seconds": 3.0})
    only = Supervisor(s.keeper, "a")
    only.hear("stop")
    only.say("swept")
    state = s.end()
    assert not any("start" in message for message in only.told)
    assert state["state"] == "failed"
    finding = next(f for f in state["findings"] if f["id"] == "node-did-not-join")
    assert finding["where"]["node"] == "b"


def test_the_keeper_waits_as_long_as_supervisors_come(monkeypatch) -> None:
    """Of a thousand nodes, the last ones are started when the first have been here for minutes."""
    now = [1000.0]
    monkeypatch.setattr(keeper_listener, "time", SimpleNamespace(monotonic=lambda: now[0]))
    patience, over = keeper_listener.Patience(60.0), []
    for joined, seconds in ((0, 0), (1, 59), (2, 59), (2, 59.9), (3, 0.05), (3, 60), (3, 0.1)):
        now[0] += seconds
        over.append(patience.is_over(joined))
    assert over == [False] * 6 + [True]


def test_a_run_that_trains_something_else_than_planned_is_stopped(stage) -> None:
    s = stage(trainable_parameters=97_006_592)
    both = s.both()
    both[0].hear("start")
    both[0].say("settings", 0, trainable_parameters=22_986_752, world_size=2)
    for one in both:
        one.hear("stop")
        one.say("swept")
    state = s.end()
    assert state["state"] == "failed"
    finding = next(f for f in state["findings"] if f["id"] == "trainable-differs")
    assert "22,986,752" in finding["saw"]


def test_nodes_that_each_train_alone_are_stopped(stage) -> None:
    s = stage()
    both = s.both()
    both[1].hear("start")
    both[1].say("start", 0, pid=1, world_size=1, host="b")
    both[0].hear("stop")
    for one in both:
        one.say("swept")
    state = s.end()
    assert any(f["id"] == "trained-alone" for f in state["findings"])


def test_a_request_to_stop_ends_the_run_as_stopped(stage) -> None:
    s = stage()
    both = s.both()
    both[0].hear("start")
    write_json(s.directory.keeper.stop, {"at": time.time()})
    for one in both:
        one.hear("stop")
        one.say("swept")
    assert s.end()["state"] == "stopped"


def test_a_death_is_named_before_the_run_is_stopped_and_one_verdict_stands_at_the_end(stage) -> None:
    s = stage()
    both = s.both()
    for one in both:
        one.hear("start")
    for rank, one in enumerate(both):
        one.say("start", rank, pid=rank + 9, start_time=1)
        one.say("beat", rank, step=3, total_steps=9, phase="training", steps=[])
    both[1].say("rank-gone", 1, pid=10, code=-9)
    both[1].say("torchrun-ended", code=1, failures=[{"rank": 1, "local_rank": 0, "pid": 10, "code": -9}])
    for one in both:
        one.hear("stop")
        one.say("swept", why="the run failed")
    state = s.end()
    lines = [json.loads(line) for line in Path(s.directory.keeper.journal).read_text().splitlines()]
    told = [(e["kind"], e["data"].get("provisional"), e["data"].get("phase")) for e in lines]
    verdicts = [e["data"] for e in lines if e["kind"] == "diagnosis"]
    assert [bool(v.get("provisional")) for v in verdicts] == [True, False]
    assert {(v["cause"], v["where"]["rank"]) for v in verdicts} == {("rank-sigkilled", 1)}
    assert told.index(("diagnosis", True, None)) < told.index(("phase", None, "stop"))
    assert state["state"] == "failed" and "provisional" not in state["diagnosis"]
    assert [f["id"] for f in state["findings"]].count("rank-sigkilled") == 1


def test_a_first_word_does_not_outlive_a_run_that_somebody_stopped(stage) -> None:
    s = stage()
    record = s.keeper.record
    record.first_word(Diagnosis("rank-sigkilled", "likely", Where("b", 1)))
    assert record.state_now["diagnosis"]["provisional"]
    both = s.both()
    write_json(s.directory.keeper.stop, {"at": 0})
    for one in both:
        one.hear("stop")
        one.say("swept", why="asked to stop")
    state = s.end()
    assert (state["state"], state["diagnosis"]) == ("stopped", None)


def test_the_next_attempt_has_a_first_word_also_where_it_fails_at_once(home, tmp_path) -> None:
    """Before any turn has seen it healthy."""
    made = KeptRun(home, tmp_path, begin=False).keeper
    said: list[Diagnosis] = []
    attempt = made.attempt
    attempt.first_word.say = said.append
    for number in range(2):
        if number:
            attempt = attempt.following({"start": number})
        attempt.watch.add(Event(1.0, "start", "b", 1, {"pid": 10, "start_time": 1}))
        attempt.watch.add(Event(2.0, "rank-gone", "b", 1, {"pid": 10, "code": -9}))
        for now in (50.0, 60.0):
            attempt.first_word.update(attempt.watch, False, now)
    made.listener.close()
    assert [one.cause for one in said] == ["rank-sigkilled"] * 2


def test_a_sweep_of_a_torchruns_own_end_is_no_answer_to_a_stop(stage) -> None:
    """It may be on its way while the keeper asks for the logs' ends and stops all: they come behind it."""
    s = stage()
    both = s.both()
    for one in both:
        one.hear("start")
        one.say("torchrun-ended", code=2, failures=[{"rank": 0, "local_rank": 0, "pid": 7, "code": 2}])
    for one in both:
        one.hear("stop")
        one.say("swept", why="torchrun ended")
    time.sleep(0.5)  # more than a turn of the keeper
    usage = "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --no-such-option\n"
    for one in both:
        one.dial.send({"logs": {"rank-0.log": usage}})
        one.say("swept", why="the run failed")
    assert "--no-such-option" in json.dumps(s.end()["diagnosis"])


def test_a_stop_that_saves_first_asks_the_ranks_and_waits_for_them(stage, monkeypatch) -> None:
    monkeypatch.setattr(keeper, "STOP_MARGIN_SECONDS", 0.5)  # nobody here tells what it swept
    s = stage()
    both = s.both()
    both[0].hear("start")
    both[0].say("can-save", 0, step=0)
    both[0].say("beat", 0, step=3, phase="training", steps=[])
    both[1].say("can-save", 1, step=0)
    until(lambda: s.keeper.attempt.can_save)
    write_json(s.directory.keeper.stop, {"at": time.time(), "save": True})
    for one in both:
        one.hear("save")
        assert not any("stop" in message for message in one.told)
    healthy_end(both)
    state = s.end()
    assert state["state"] == "stopped" and "to save and to end" in state["why"]


def test_a_node_that_was_away_when_all_were_asked_to_save_is_asked_when_it_is_back(
    stage, monkeypatch
) -> None:
    """The ranks save at a step that all agree on: without those of one node, none would save."""
    monkeypatch.setattr(keeper, "STOP_MARGIN_SECONDS", 0.5)
    s = stage()
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("can-save", rank, step=0)
        one.say("beat", rank, step=3, phase="training", steps=[])
    until(lambda: s.keeper.attempt.can_save)
    both[1].dial.close()
    until(lambda: "b" in s.keeper.lost)
    write_json(s.directory.keeper.stop, {"at": time.time(), "save": True})
    both[0].hear("save")
    back = Supervisor(s.keeper, "b")
    back.hear("save")
    healthy_end([both[0], back])
    assert s.end()["state"] == "stopped"


def test_a_machine_that_goes_away_before_the_ranks_start_starts_none(stage) -> None:
    """Nobody would ask the ranks a second time to save and to end."""
    s = stage()
    only = Supervisor(s.keeper, "a")
    only.say("notice", why="spot instance", seconds=120.0)
    only.hear("stop")
    only.say("swept")
    state = s.end(40.0)  # of the 60 s in which the other node may come
    assert (state["state"], state["why"]) == ("stopped", "before any rank was started")


@pytest.mark.parametrize("asked", [False, True])
def test_a_notice_in_the_wait_before_a_restart_ends_the_run_as_stopped(stage, monkeypatch, asked) -> None:
    """At once, while the machine is there. `asked`: then somebody asks to stop, too."""
    monkeypatch.setattr(keeper_restart, "BACK_OFF_SECONDS", (600.0,))
    leave = Attempt.leave
    if asked:
        monkeypatch.setattr(
            Attempt, "leave", lambda attempt, why: leave(attempt, why) and attempt.to(State.ASKED)
        )
    s = stage(keep={"restarts": 3})
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("start", rank, pid=10 + rank, start_time=1)
        one.say("beat", rank, step=3, phase="training", steps=[])
    both[1].say("rank-gone", 1, pid=11, code=-9)
    both[1].say("torchrun-ended", code=1, failures=[])
    for one in both:
        one.hear("stop")
        one.say("swept", why="the run failed")
    until(lambda: "600 s" in Path(s.directory.keeper.journal).read_text())
    both[0].say("notice", why="spot instance", seconds=120.0)
    state = s.end(40.0)
    assert (state["state"], state["why"].partition(":")[0]) == ("stopped", "spot instance on a")
    assert state["diagnosis"]["cause"] == "rank-sigkilled", "why it had failed stays known"


def test_a_stop_that_saves_first_stops_at_once_where_no_rank_can_save(stage) -> None:
    s = stage()
    both = s.both()
    both[0].hear("start")
    write_json(s.directory.keeper.stop, {"at": time.time(), "save": True})
    for one in both:
        one.hear("stop")
        one.say("swept")
        assert not any("save" in message for message in one.told)
    assert s.end()["state"] == "stopped"


@pytest.mark.parametrize(
    ("seen", "ends"),
    [("nothing", "unproven"), ("group", "succeeded"), ("step", "succeeded"), ("save", "succeeded")],
)
def test_an_end_without_a_step_and_a_save_is_doubted(stage, seen, ends) -> None:
    s = stage()
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        step = {"step": 3, "total_steps": 3} if seen == "step" else {}
        one.say("beat", rank, phase="preparing" if seen == "group" else "importing", steps=[], **step)
    if seen == "save":
        both[1].say("saved", 1, step=7, path="/out/model.pt", seconds=0.1)
    healthy_end(both, trained=False)
    state = s.end()
    assert state["state"] == ends
    doubts = [f["verdict"] for f in state["findings"] if f["id"] == "no-training-seen"]
    assert doubts == {"nothing": ["unknown"], "group": ["warn"]}.get(seen, [])


@pytest.mark.parametrize(("damage", "ends"), [(False, "succeeded"), (True, "failed")])
def test_what_a_script_saved_anywhere_is_judged_by_its_kind(stage, tmp_path, damage, ends) -> None:
    s = stage()
    both = s.both()
    (tmp_path / "mine").mkdir()
    old, new = tmp_path / "mine" / "step_1.pt", tmp_path / "mine" / "step_2.pt"
    for file in (old, new):
        file.write_bytes(torch_file())
    if damage:
        new.write_bytes(new.read_bytes()[:600])
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("beat", rank, step=2, total_steps=2, phase="training", steps=[])
    for step, path in enumerate((old, tmp_path / "gone.pt", new), 1):
        both[0].say("saved", 0, step=step, path=str(path), seconds=0.1)
    healthy_end(both)
    state = s.end()
    assert state["state"] == ends
    told = [(one["path"], one["kind"], one["whole"]) for one in state["saves"]]
    assert told == [(str(new), "torch-file", not damage), (str(old), "torch-file", True)]
    assert ("output-not-whole" in [f["id"] for f in state["findings"]]) is damage


def test_a_save_on_another_nodes_disk_is_named_and_not_judged(stage) -> None:
    s = stage()
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("beat", rank, step=2, total_steps=2, phase="training", steps=[])
    both[1].say("saved", 1, step=2, path="/local/of/b/shard.pt", seconds=0.1)
    healthy_end(both)
    state = s.end()
    assert state["state"] == "succeeded"
    assert [(one["node"], one["whole"], one["why"]) for one in state["saves"]] == [
        ("b", None, "it is not on a")
    ]


@pytest.mark.parametrize("finished, verdict", [(True, "succeeded"), (False, "failed")])
def test_an_abort_after_the_end_of_every_rank_is_no_failure(stage, finished, verdict) -> None:
    """torchrun fails in both; the run only where a rank was ended before its own end."""
    s = stage()
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("beat", rank, step=3, total_steps=3, phase="training", steps=[])
    both[1].say("end", 1, code=0)
    if finished:
        both[0].say("end", 0, code=0)
    both[1].say("torchrun-ended", code=1, failures=[{"rank": 1, "local_rank": 0, "pid": 7, "code": -6}])
    both[0].say("torchrun-ended", code=1, failures=[{"rank": 0, "local_rank": 0, "pid": 8, "code": -15}])
    for one in both:
        one.hear("stop")
        one.say("swept")
    state = s.end()
    assert state["state"] == verdict
    assert ("aborted-after-the-end" in [f["id"] for f in state["findings"]]) is finished
    assert not finished or not [f for f in state["findings"] if f["verdict"] == "block"]


@pytest.mark.parametrize("code", [3, -9])
def test_another_end_than_an_abort_is_a_failure_though_python_said_0(stage, code) -> None:
    """A bare `raise SystemExit(3)` is told as 0 from inside: torchrun's code is the authority."""
    s = stage()
    both = s.both()
    for rank, one in enumerate(both):
        one.hear("start")
        one.say("beat", rank, step=3, total_steps=3, phase="training", steps=[])
        one.say("end", rank, code=0)
    both[0].say("torchrun-ended", code=0, failures=[])
    both[1].say("torchrun-ended", code=1, failures=[{"rank": 1, "local_rank": 0, "pid": 7, "code": code}])
    for one in both:
        one.hear("stop")
        one.say("swept")
    assert s.end()["state"] == "failed"


def test_a_keeper_that_its_disk_holds_up_goes_on_with_the_leases(stage, monkeypatch) -> None:
    one = stage()
    supervisors = one.both()
    for supervisor in supervisors:
        supervisor.hear("start")
    answers, held_up, flush = threading.Event(), threading.Event(), one.keeper.record.flush

    def disk(now: bool = False) -> None:
        held_up.set()
        assert answers.wait(120)
        flush(now)

    monkeypatch.setattr(one.keeper.record, "flush", disk)
    assert held_up.wait(60)
    try:
        for supervisor in supervisors:
            supervisor.dial.poll(0.1)
            for _ in range(2):  # the second one within the time of the first: 5 s
                supervisor.told.clear()
                supervisor.hear("lease")
    finally:
        answers.set()
    healthy_end(supervisors)
    assert one.end()["state"] == "succeeded"


def test_a_clock_that_is_set_back_does_not_lengthen_the_wait_for_the_stacks(monkeypatch) -> None:
    monkeypatch.setattr(keeper, "ANSWER_SECONDS", 0.2)
    end = time.monotonic() + 40.0
    run = SimpleNamespace(asked_at=time.time() + 3600.0, held_up=None)
    attempt = SimpleNamespace(why="no-progress", watch=SimpleNamespace(run=run))
    for _ in Keeper._hear_evidence(SimpleNamespace(attempt=attempt)):  # type: ignore[arg-type]  # a stand-in
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_rank_is_heard_when_its_beat_arrives_whatever_its_nodes_clock_says(stage) -> None:
    """A clock that is set back: its newest beats look 90 s old."""
    s = stage()
    both = s.both()
    both[0].hear("start")
    for step, back in ((1, 0.0), (2, 90.0)):
        event = Event(time.time() - back, "beat", "b", 1, {"phase": "training", "step": step})
        both[1].dial.send({"event": event.as_json()})
    rank = until(lambda: s.keeper.attempt.watch.run.ranks.get(1))
    until(lambda: rank.step == 2)
    assert rank.moved_at is not None and time.time() - rank.moved_at < 60.0
    healthy_end(both)
    assert s.end()["state"] == "succeeded"


def test_leases_end_with_a_keeper_that_nothing_wakes(monkeypatch) -> None:
    monkeypatch.setattr(keeper_listener, "HELD_UP_SECONDS", 0.0)
    sent = []

    class Heard:
        def send(self, node: str, message: dict) -> None:
            sent.append(node)

    leases = keeper_listener.Leases(Heard(), {"a": True}, 0.01)  # type: ignore[arg-type]  # a stand-in
    leases.start()
    time.sleep(0.2)
    leases.end()
    assert sent == []


def test_a_head_that_stands_still_for_24_s_ends_no_lease_whenever_it_begins() -> None:
    sent, clock = [], [0.0]
    leases = keeper_listener.Leases(
        SimpleNamespace(send=lambda *_: sent.append(clock[0])),  # type: ignore[arg-type]  # a stand-in
        {"a": True},
        LEASE_SECONDS,
    )

    def wait(seconds: float) -> bool:
        clock[0] += seconds
        return clock[0] > 60.0

    leases._over = SimpleNamespace(wait=wait)  # type: ignore[assignment]
    leases.run()
    assert len(sent) > 2
    assert max(after - before for before, after in pairwise([0.0, *sent])) + 24.0 + 2.0 < LEASE_SECONDS


def test_a_stopped_run_is_over_while_its_last_copy_is_still_made(stage, monkeypatch) -> None:
    """`allranks stop` waits for seconds, a copy takes minutes: whoever ends the supervisor loses no state."""
    copied, waits = threading.Event(), threading.Event()

    def end(_saves, final=None) -> Iterator[None]:
        waits.set()
        while not copied.is_set():
            yield

    monkeypatch.setattr(keeper_saves.Saves, "end", end)
    one = stage()
    supervisors = one.both()
    for supervisor in supervisors:
        supervisor.hear("start")
    write_json(one.directory.keeper.stop, {"at": 0})
    for supervisor in supervisors:
        supervisor.hear("stop")
        supervisor.say("swept", why="asked", left=[])
    try:
        assert waits.wait(60)
        state = json.loads(Path(one.directory.keeper.state).read_text())
        assert state["state"] == "stopped" and state["ended_at"]
        assert one.keeper.is_alive()
    finally:
        copied.set()
    assert one.end()["state"] == "stopped"


def test_an_output_folder_that_cannot_be_made_is_said_before_any_rank_starts(stage) -> None:
    s = stage()
    s.output.parent.mkdir(exist_ok=True)
    s.output.write_text("a file is in the way")
    both = s.both()
    both[0].hear("stop")
    for one in both:
        one.say("swept")
    state = s.end()
    assert not any("start" in message for one in both for message in one.told)
    assert any(f["id"] == "output-not-writable" for f in state["findings"])


def test_a_fault_of_the_keeper_stops_the_run_and_says_so(stage, monkeypatch) -> None:
    s = stage()
    both = s.both()
    both[0].hear("start")

    def broken(now):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(s.keeper.attempt.watch, "tick", broken)
    both[0].hear("stop")
    state = s.end()
    assert state["state"] == "failed"
    assert any(f["id"] == "keeper-fault" and "a fault of ours" in f["saw"] for f in state["findings"])


def test_a_supervisor_that_comes_back_is_told_again_what_matters(stage) -> None:
    s = stage()
    both = s.both()
    both[1].hear("start")
    both[1].dial.close()
    again = Supervisor(s.keeper, "b")
    again.hear("start")
    both[1] = again
    healthy_end(both)
    assert s.end()["state"] == "succeeded"


@pytest.mark.parametrize(("marked", "name"), [(True, "node-did-not-join"), (False, "submission-cut")])
def test_a_submission_that_was_cut_off_is_told_from_a_closed_port(stage, marked, name) -> None:
    s = stage(keep={"submitted": "submitted.json", "join_seconds": 3.0})
    if marked:
        write_json(s.directory.root + "/submitted.json", {"at": 1})
    only = Supervisor(s.keeper, "a")
    only.hear("stop")
    only.say("swept")
    state = s.end()
    assert [(f["id"], f["where"]["node"]) for f in state["findings"]] == [(name, "b")]


@pytest.mark.parametrize(
    "line",
    [
        {"at": 1e400, "kind": "beat", "rank": 0, "data": {}},
        {"at": 1.0, "kind": "beat", "rank": 1e400, "data": {}},
        {"at": 10**400, "kind": "beat", "rank": 0, "data": {}},
        {"at": float("nan"), "kind": "beat", "rank": 0, "data": {}},
        {"at": 1.0, "kind": "torchrun-ended", "rank": None, "data": {"code": "x"}},
        {"at": 1.0, "kind": "beat", "rank": 0, "data": {"steps": [[float("inf")] * 9, 7], "step": 1e400}},
        ["no", "event"],
        None,
    ],
)
def test_no_line_of_a_node_is_a_fault_of_the_keeper(stage, line, monkeypatch) -> None:
    monkeypatch.setattr(keeper, "STOP_MARGIN_SECONDS", 0.5)  # nobody here tells what it swept
    s = stage()
    both = s.both()
    both[0].hear("start")
    both[1].dial.send({"event": line})
    both[1].dial.send({"logs": 7})
    both[1].say("torchrun-ended", 0, code=0)  # as a rank's own file may claim
    healthy_end(both)
    state = s.end()
    assert "keeper-fault" not in {f["id"] for f in state["findings"]}
    assert state["state"] in ("succeeded", "failed")


def test_a_keeper_that_was_held_up_does_not_read_for_ever_where_many_nodes_send(monkeypatch) -> None:
    clock = [0.0]

    def poll(seconds: float) -> list[str]:
        clock[0] += 0.1
        return ["alive"]  # a thousand nodes are never silent for 0.2 s

    monkeypatch.setattr(keeper_listener.time, "monotonic", lambda: clock[0])
    leases = keeper_listener.Leases(SimpleNamespace(poll=poll), {}, 30.0)  # type: ignore[arg-type]  # a stand-in
    clock[0] = 10.0
    assert 20 < len(leases.heard()) < 40
    assert len(leases.heard()) == 1


def test_a_keeper_that_is_held_up_still_reads_so_that_no_connection_breaks(monkeypatch) -> None:
    """Each node's heartbeats would fill its connection, which the kernel ends after 20 s."""
    monkeypatch.setattr(keeper_listener, "HELD_UP_FROM_SECONDS", 0.05)
    waiting = [f"beat {number}" for number in range(3)]

    def poll(seconds: float) -> list[str]:
        return [waiting.pop(0)] if waiting else []

    listener = SimpleNamespace(poll=poll, send=lambda *_: True)
    leases = keeper_listener.Leases(listener, {"a": True}, 0.15)  # type: ignore[arg-type]  # a stand-in
    leases.start()
    try:
        until(lambda: not waiting)  # nobody asks for them
        waiting.append("beat 3")
        assert leases.heard() == ["beat 0", "beat 1", "beat 2", "beat 3"]
    finally:
        leases.end()


def test_what_is_read_for_a_keeper_that_is_held_up_has_a_limit(monkeypatch) -> None:
    monkeypatch.setattr(keeper_listener, "MOST_KEPT", 5)
    leases = keeper_listener.Leases(SimpleNamespace(poll=lambda seconds: ["beat"]), {}, 30.0)  # type: ignore[arg-type]
    leases._read_on()
    leases._read_on()
    assert leases._kept == ["beat"] * 5
