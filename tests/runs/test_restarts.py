"""Which failures are tried again, and how a restart goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.core import Diagnosis, Event, Where
from allranks.monitor.rank_records import RankState
from allranks.node import processes
from allranks.runs import keeper_finish, keeper_io_worker
from allranks.runs.keeper_finish import LOOK_AGAIN_SECONDS, Finish
from allranks.runs.keeper_listener import HELD_UP_SECONDS
from allranks.runs.keeper_restart import (
    KILLED_SECONDS,
    NEVER_CAME_SECONDS,
    SETTLE_SECONDS,
    Restarts,
    settle_seconds,
)
from tests.harness import free_port, until
from tests.harness.desk import Desk


def cause(name: str, rank: int = 1, line: int | None = None) -> Diagnosis:
    return Diagnosis(name, "likely", Where(node="node-1", rank=rank, line=line))


def test_the_default_restarts_nothing() -> None:
    decision = Restarts(0).decide(cause("rank-sigkilled"), 5, [])
    assert (decision.again, decision.why) == (False, "launch.restarts is 0")


@pytest.mark.parametrize(
    "name", ["missing-python-module", "lora-target-not-found", "collective-mismatch", "disk-full-checkpoint"]
)
def test_what_would_come_again_is_not_tried_again(name: str) -> None:
    restarts = Restarts(5)
    assert not restarts.decide(cause(name), 5, []).again
    assert restarts.used == 0


def test_an_exception_is_tried_again_only_after_a_step() -> None:
    restarts = Restarts(5)
    assert not restarts.decide(cause("rank-crashed-first"), None, []).again
    assert restarts.decide(cause("rank-crashed-first", line=7), 40, []).again
    same = restarts.decide(cause("rank-crashed-first", line=7), 40, [])
    assert not same.again and "same step 40" in same.why
    assert restarts.decide(cause("rank-crashed-first", line=7), 41, []).again


def test_a_node_that_never_came_up_is_not_waited_for_as_one_that_failed_at_work() -> None:
    rank = RankState(2)
    rank.node = "node-2"
    failed = Event(0.0, "torchrun-ended", "node-1", None, {"code": 1})
    of_a_rank = Event(0.0, "exception", "node-1", 1, {})
    job = {"inside": "/bundle/inside"}
    assert settle_seconds(failed, {2: rank}, job) == NEVER_CAME_SECONDS
    assert settle_seconds(of_a_rank, {2: rank}, job) == SETTLE_SECONDS
    assert settle_seconds(failed, {2: rank}, {}) == SETTLE_SECONDS, "nobody could have spoken"
    rank.node = "node-1"
    assert settle_seconds(failed, {2: rank}, job) == SETTLE_SECONDS


def test_a_killed_rank_that_starts_again_is_not_listened_to_for_long() -> None:
    killed, ended = RankState(1), RankState(2)
    killed.gone_code, ended.gone_code = -9, 1
    lost = Event(5.0, "exception", "b", 2, {"type": "RuntimeError", "communication": True})
    assert settle_seconds(lost, {1: killed, 2: ended}, {}, again=True) == KILLED_SECONDS
    assert settle_seconds(lost, {1: killed, 2: ended}, {}) == SETTLE_SECONDS, (
        "its end is all there will be to read"
    )
    assert settle_seconds(lost, {2: ended}, {}, again=True) == SETTLE_SECONDS, "nobody knows yet who it was"
    writes = RankState(0)
    writes.phase = "saving"
    found = settle_seconds(lost, {0: writes, 1: killed, 2: ended}, {}, again=True)
    assert found == SETTLE_SECONDS, "its checkpoint may still be whole"


def test_the_budget_and_the_back_off() -> None:
    restarts = Restarts(3)
    waits = [restarts.decide(cause("rank-sigkilled"), step, []).wait_seconds for step in (5, 9, 12)]
    assert waits == [0.0, 10.0, 20.0]
    assert restarts.decide(cause("rank-sigkilled"), 15, []).why == "all 3 restarts are used"


def test_the_same_fault_at_the_same_step_is_tried_again_on_another_node() -> None:
    restarts = Restarts(5)
    assert restarts.decide(cause("rank-sigkilled"), 5, []).again
    assert not restarts.decide(cause("rank-sigkilled"), 5, []).again
    assert restarts.decide(cause("rank-sigkilled"), 5, [], moved=True).again


@pytest.mark.parametrize(
    "name", ["rank-sigkilled", "cpu-oom-killed", "dataloader-worker-killed", "xid-gpu-fault"]
)
def test_a_ranks_own_fault_before_the_first_step_is_tried_once_more(name: str) -> None:
    """A model that the memory cannot hold while it is loaded was tried until all restarts were used."""
    restarts = Restarts(6)
    assert restarts.decide(cause(name), None, []).again
    same = restarts.decide(cause(name), None, [])
    assert not same.again and same.why == "the same fault before the first step for the second time"
    assert restarts.used == 1
    assert restarts.decide(cause(name), None, [], moved=True).again, "a spare may not meet it"
    assert restarts.decide(cause(name), 5, []).again, "it came further"
    assert restarts.decide(cause(name), None, []).again


def test_another_rank_is_another_fault_but_memory_is_the_nodes() -> None:
    restarts = Restarts(6)
    assert [restarts.decide(cause("rank-sigkilled", rank), None, []).again for rank in (1, 2)] == [True, True]
    assert restarts.decide(cause("cpu-oom-killed", 1), None, []).again
    assert not restarts.decide(cause("cpu-oom-killed", 2), None, []).again
    elsewhere = Diagnosis("cpu-oom-killed", "likely", Where(node="node-2", rank=5))
    assert restarts.decide(elsewhere, None, []).again


@pytest.mark.parametrize(
    "name", ["gloo-connect-full-mesh", "nfs-stale-or-io-error", "node-lost", "rank-silent"]
)
def test_what_may_be_well_meanwhile_is_tried_again_before_the_first_step(name: str) -> None:
    restarts = Restarts(3)
    assert [restarts.decide(cause(name), None, []).again for _ in range(3)] == [True] * 3


def test_without_a_word_of_any_rank_nobody_knows_that_it_was_before_the_first_step() -> None:
    """A script that `inside` is not in may have trained for hours."""
    restarts = Restarts(3)
    tries = [restarts.decide(cause("rank-sigkilled"), None, [], told=False).again for _ in range(3)]
    assert tries == [True] * 3


def test_a_node_that_is_gone_has_no_spare() -> None:
    decision = Restarts(3).decide(cause("node-failure"), 5, ["node-1"])
    assert not decision.again and "node-1" in decision.why


def test_storage_that_hangs_keeps_nobody(monkeypatch) -> None:
    monkeypatch.setattr(keeper_io_worker, "BOOT", "import time\ntime.sleep(60)")
    monkeypatch.setitem(keeper_io_worker.SECONDS, "verify", 0.5)
    beats = []

    def work() -> keeper_io_worker.Steps[None]:
        answer, why = yield from keeper_io_worker.call("verify", {"folder": "/", "expect": {}})
        assert answer is None and "did not end within" in why

    for _ in work():
        beats.append(1)
    assert beats


def test_a_child_ends_when_its_keeper_is_to_end(monkeypatch) -> None:
    monkeypatch.setattr(keeper_io_worker, "BOOT", "import time\ntime.sleep(60)")
    asked: list[bool] = []
    steps = keeper_io_worker.call("verify", {"folder": "/", "expect": {}}, lambda: bool(asked))
    assert keeper_io_worker.run_out(steps) == (None, "the run was asked to stop")


def test_only_a_whole_checkpoint_with_our_own_state_is_gone_on_from(tmp_path: Path) -> None:
    """Of four whole adapters one has our state, one a changed one, one a trainer's pickles, one none."""
    from allranks.checkpoints.resuming import STATE
    from allranks.worker.adapter_files import COVERED, MANIFEST, digest
    from tests.runs.test_finish import write_adapter

    for step, names in ((10, STATE), (20, STATE), (30, ("optimizer.pt", "scheduler.pt")), (40, ())):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        write_adapter(folder)
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))
        for name in names:
            (folder / name).write_bytes(b"{}")
        files = {name: digest(str(folder / name)) for name in COVERED if (folder / name).exists()}
        (folder / MANIFEST).write_text(json.dumps({"step": step, "files": files}))
    (tmp_path / "checkpoint-20" / STATE[0]).write_bytes(b"[]")
    found = str(tmp_path / "checkpoint-10")
    assert gone_on_from(tmp_path, keep_word=False) == (found, found)


@pytest.mark.parametrize("keep_word", [True, False])
def test_without_a_checkpoint_the_word_of_the_runs_beginning_stands_or_is_taken_back(
    tmp_path: Path, keep_word: bool
) -> None:
    (tmp_path / keeper_io_worker.CHOICE).write_text(json.dumps({"from": "/elsewhere/checkpoint-7"}))
    assert gone_on_from(tmp_path, keep_word) == (None, "/elsewhere/checkpoint-7" if keep_word else None)


def test_a_word_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / keeper_io_worker.CHOICE).mkdir()
    asked = {"folder": str(tmp_path), "expect": None, "keep_word": False}
    answer, trouble = keeper_io_worker.run_out(keeper_io_worker.call("go_on", asked))
    assert not trouble and answer is not None
    assert answer["found"] is None and "directory" in answer["unchosen"].lower()


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """An end of a run whose looks at the output folder have the given answers; of the last one all that follow."""
    seen = SimpleNamespace(asked=[], found=[], notes=[], answers=[], clock=0.0, ends=False)

    def call(what: str, arguments: Any) -> Any:
        seen.asked.append(what)
        return seen.answers.pop(0) if len(seen.answers) > 1 else seen.answers[0]
        yield

    monkeypatch.setattr(keeper_io_worker, "call", call)
    monkeypatch.setattr(keeper_finish, "time", SimpleNamespace(monotonic=lambda: seen.clock))
    record = SimpleNamespace(
        finding=seen.found.append,
        note=lambda content: seen.notes.append((content.KIND, content.again)),
        phase=lambda phase, why: None,
    )
    job = {"node": "a", "keep": {"output_dir": "/nfs/out"}}
    seen.finish = Finish(None, job, record, lambda: False, None)  # type: ignore[arg-type]  # as of any run that failed
    return seen


def gone_on(looking: SimpleNamespace, keep_word: bool = False) -> Any:
    """What it finds, while a keeper turns once a second."""
    steps = looking.finish.go_on(keep_word, lambda: looking.ends)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        looking.clock += 1.0


HANGS = (None, "it did not end within 600 s")
UNCHOSEN = ({"found": None, "unchosen": "Read-only file system"}, "")


@pytest.mark.parametrize("keep_word", [True, False])
@pytest.mark.parametrize("answer", [HANGS, UNCHOSEN])
def test_what_to_go_on_from_is_not_taken_for_nothing_where_nobody_could_look(
    looking: SimpleNamespace, answer: Any, keep_word: bool
) -> None:
    """An earlier word that could not be taken back would be read by the ranks, too."""
    looking.answers.append(answer)
    assert gone_on(looking, keep_word) is None
    assert [one.id for one in looking.found] == ["resume-unknown"]
    assert (answer[1] or answer[0]["unchosen"]) in looking.found[0].saw
    assert looking.notes == [("restart", False)]
    assert looking.clock <= HELD_UP_SECONDS + LOOK_AGAIN_SECONDS, "it does not ask for ever"


def test_storage_that_answers_again_is_gone_on_from(looking: SimpleNamespace) -> None:
    looking.answers += [(None, "Stale file handle"), UNCHOSEN, ({"found": {"path": "x", "step": 10}}, "")]
    assert gone_on(looking) == {"found": {"path": "x", "step": 10}}
    assert looking.clock == 2 * LOOK_AGAIN_SECONDS and looking.found == looking.notes == []
    looking.answers[:] = [({"found": None}, "")]
    assert gone_on(looking) == {"found": None}, "a look that finds nothing is one"


def test_a_run_that_is_to_end_waits_for_no_further_look(looking: SimpleNamespace) -> None:
    looking.answers.append(HANGS)
    looking.ends = True
    assert gone_on(looking) is None and looking.asked == ["go_on"]


@pytest.mark.parametrize("keep_word", [True, False])
def test_a_folder_that_cannot_be_listed_is_no_empty_one(tmp_path: Path, keep_word: bool) -> None:
    (tmp_path / "output").write_text("no folder")
    asked = {"folder": str(tmp_path / "output"), "expect": None, "keep_word": keep_word}
    answer, trouble = keeper_io_worker.run_out(keeper_io_worker.call("go_on", asked))
    assert answer is None and trouble == "Not a directory"


def gone_on_from(folder: Path, keep_word: bool) -> tuple[str | None, str | None]:
    """What the keeper hears, and what the ranks will read."""
    asked = {"folder": str(folder), "expect": None, "keep_word": keep_word}
    answer, trouble = keeper_io_worker.run_out(keeper_io_worker.call("go_on", asked))
    assert not trouble and answer is not None, trouble
    word = json.loads((folder / keeper_io_worker.CHOICE).read_text())
    return answer["found"] and answer["found"]["path"], word["from"]


def when(ticks: int) -> float:
    """The time of a process's start, which the kernel counts from the machine's."""
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.training
def test_a_killed_rank_costs_a_restart_and_the_run_succeeds(runner: Desk, tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = "import sys\nopen(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
    file = runner.light(
        # long enough after the first step that the next attempt's torchrun waits already
        *("--fault", "kill", "--rank", 1, "--at", 32, "--steps", 36, "--seconds", 0.4, "--once"),
        launch={"restarts": 1},
        alerts={"command": [sys.executable, "-c", code, str(told)]},
    )
    run = runner.run(file, code=0)
    assert (run["state"], run["step"], run["diagnosis"]) == ("succeeded", 36, None)
    events = runner.events(run["id"])
    torchruns = [e["data"] for e in events if e["kind"] == "torchrun" and e["node"] == "node-1"]
    assert [one["attempt"] for one in torchruns] == [0, 1]
    (restart,) = [e for e in events if e["kind"] == "restart"]
    assert restart["data"]["again"] is True
    died = next(e["at"] for e in events if e["kind"] == "rank-gone" and e["rank"] == 1)
    begun = [when(one["process"]["start_time"]) for one in torchruns]
    assert begun[0] + 5.0 < begun[1] < died, "the second one was to be there before it was needed"
    again = [
        e["at"] for e in events if e["kind"] == "beat" and e["at"] > restart["at"] and e["data"].get("steps")
    ]
    assert again and again[0] > died
    messages = [json.loads(line) for line in told.read_text().splitlines()]
    told_of = [f["id"] for m in messages for f in m["findings"]]
    # a busy machine may have a word of its own between them
    assert [one for one in told_of if one in ("restarted", "run-succeeded")] == ["restarted", "run-succeeded"]
    assert not [f for m in messages for f in m["findings"] if f.get("verdict") == "block"]
    assert runner.left() == []


STEPS = 30
"""Enough for a rank to die after its successor has begun to wait, which it does seconds after the first step."""


@pytest.mark.training
def test_a_restart_goes_on_from_the_newest_verified_checkpoint(runner: Desk, root: Path) -> None:
    """With allranks' own loader, the experts in slices, and the next attempt's ranks on standby."""
    tiny = root / ".cache" / "tiny-deepseek-v3"
    subprocess.run([sys.executable, str(root / "examples" / "make_tiny.py"), str(tiny)], check=True)
    settings = [f"network.port={free_port()}", "launch.restarts=1", "environment.loader=own"]
    settings += ["train.experts=lockstep", "train.experts_at_once=3", "launch.standby=true"]
    settings += ["nodes=node-[0-1]", "save.every=6", f"train.llamafactory.max_steps={STEPS}"]
    words = [word for setting in settings for word in ("--set", setting)]
    controller = runner.start("run", root / "examples" / "tiny-deepseek-v3.yaml", *words)
    run = runner.at_step(7)
    start = next(e for e in runner.events(run["id"]) if e["kind"] == "start" and e["rank"] == 1)

    def stand_by() -> bool:
        """Whether the next attempt's ranks have begun: then four processes run the program, and each torchrun names it
        too. The rank runs only while it looks, or the training might be over before."""
        os.kill(start["data"]["pid"], signal.SIGCONT)
        programs = [line for line in runner.ours() if "llamafactory.launcher" in line]
        os.kill(start["data"]["pid"], signal.SIGSTOP)
        return sum("torch.distributed" not in line for line in programs) >= 4

    until(stand_by, every=0.1)
    os.kill(start["data"]["pid"], signal.SIGKILL)
    out, _ = controller.communicate(timeout=300)
    assert controller.returncode == 0, out[-3000:]
    state = runner.runs()[0]
    assert (state["state"], state["step"], state["adapter"]["whole"]) == ("succeeded", STEPS, True)
    events = runner.events(run["id"])
    restart_at = next(e["at"] for e in events if e["kind"] == "restart")
    notes = [set(e["data"].get("notes", ())) for e in events if e["kind"] == "settings"]
    assert all("DeepseekV3NaiveMoe: fused experts in slices, 3 at a time." in told for told in notes)
    assert all(any(note.startswith("loader own: read ") for note in told) for told in notes)
    later = [e for e in events if e["kind"] == "settings" and e["at"] > restart_at]
    stood_by = {e["rank"] for e in later if any(n.startswith("standby: ") for n in e["data"]["notes"])}
    assert stood_by == {0, 1}
    assert not any(e["data"].get("trouble") for e in events if e["kind"] == "beat")
    said = next(e["data"]["saw"] for e in events if e["kind"] == "finding" and e["data"]["id"] == "restarted")
    # one every sixth step: which was the newest depends on when the signal came
    looked = [e["data"] for e in events if e["kind"] == "checkpoint" and e["at"] < restart_at]
    newest = next(step for step in range(STEPS - 6, 0, -6) if f"checkpoint-{step} (step {step})" in said)
    assert newest >= max(one["step"] for one in looked if one["whole"])
    beats = [e for e in events if e["kind"] == "beat" and e["at"] > restart_at + 1 and e["data"].get("steps")]
    assert min(step[0] for beat in beats for step in beat["data"]["steps"]) == newest + 1
    assert runner.left() == []


WORKS_ON = """
import sys, time
open(sys.argv[2] + "/pid", "w").write(str(__import__("os").getpid()))
time.sleep(300)
"""


def test_what_the_keeper_started_ends_with_a_killed_supervisor(tmp_path: Path) -> None:
    """It is in the supervisor's session, where no sweep looks: a copy would go on, a prune go on deleting."""
    life = (
        "import sys; from allranks.runs import keeper_io_worker\n"
        "keeper_io_worker.BOOT, folder = sys.argv[1], sys.argv[2]\n"
        "keeper_io_worker.SECONDS[folder] = 300.0\n"
        "keeper_io_worker.run_out(keeper_io_worker.call(folder, {}))\n"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", life, WORKS_ON, str(tmp_path)])
    pid = tmp_path / "pid"
    try:
        until(lambda: pid.is_file() and pid.read_text())
    finally:
        supervisor.kill()
        supervisor.wait()
    child = int(pid.read_text())
    until(lambda: (found := processes.read_stat(child)) is None or not found.is_alive, "it works on")


def test_a_child_whose_supervisor_has_gone_already_does_nothing() -> None:
    words = [sys.executable, "-I", "-S", "-c", keeper_io_worker.LEASH + "print('at work')", "1", "60"]
    done = subprocess.run(words, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
