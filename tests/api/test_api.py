"""`import allranks`: what a program calls, its errors, and what the import costs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

import allranks
from allranks.api import read
from allranks.cli import inside_loops, main
from allranks.core import finding_from_json
from allranks.runs import index
from tests.harness import ROOT

KEYS = {"nodes": "localhost", "gpus": {"count": 1, "model": "cpu"}, "train": {"command": ["train.py"]}}
RECORDED = ROOT / "tests" / "recorded" / "cpu"


def fresh(code: str) -> str:
    """What a new Python prints for this."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- the import ----


def test_the_import_that_every_rank_makes_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import allranks; print(sorted(set(sys.modules) - before))"
    assert fresh(code) == "['allranks']"


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "first", ["allranks.plan.result", "allranks.diagnose", "allranks.cli", "allranks.api", "json"]
)
def test_a_room_and_the_function_of_its_name_are_both_there(first: str) -> None:
    """Whatever was imported before, and in whatever order."""
    code = (
        f"import {first}, allranks\n"
        "assert callable(allranks.plan) and callable(allranks.diagnose) and callable(allranks.run)\n"
        "from allranks.diagnose import cause\n"
        "from allranks import plan, diagnose\n"
        "plan.make_plan, diagnose.diagnose\n"
        "try: allranks.diagnose('/no/such/log')\n"
        "except allranks.BadInput as error: print(error)"
    )
    assert "/no/such/log is not a file" in fresh(code)


def test_every_name_is_there_and_no_other() -> None:
    for name in (*allranks.API, *allranks.ROOMS):
        assert getattr(allranks, name) is not None and name in dir(allranks)
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        allranks.rum  # type: ignore[attr-defined]  # noqa: B018


def test_the_types_name_what_there_is() -> None:
    declared = Path(allranks.__file__).with_suffix(".pyi").read_text()
    for name in (*allranks.API, *allranks.ROOMS):
        assert f"import {name} as {name}\n" in declared


# ---- plan and check ----


def test_a_plan_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    planned = allranks.plan(KEYS, sets=["gpus.count=3"])
    assert (planned.world_size, capsys.readouterr().out) == (3, "")


def test_the_paths_of_a_mapping_begin_in_the_current_folder(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    keys = {"nodes": "localhost", "gpus": {"count": 1, "model": "cpu"}, "train": {"command": ["train.py"]}}
    described = allranks.api.read(keys)
    assert (described.script(), described.workdir()) == ([str(tmp_path / "train.py")], str(tmp_path))
    (tmp_path / "train.py").unlink()
    assert "script-missing" in {found.id for found in allranks.plan(keys).findings}


def test_every_mistake_is_raised_at_once_with_the_same_text(tmp_path: Path, capsys) -> None:
    with pytest.raises(allranks.BadInput) as raised:
        allranks.plan({**KEYS, "gpuss": 8, "nodes": "node[3-1]"})
    assert len(raised.value.problems) == 2 and raised.value.exit_code == 2
    file = tmp_path / "run.yaml"
    file.write_text("nodes: localhost\ngpuss: 8\ntrain: {command: [train.py]}\n")
    with pytest.raises(allranks.BadInput) as raised:
        allranks.plan(file)
    assert main(["plan", str(file)]) == 2
    assert capsys.readouterr().err == f"{raised.value}\n"


def test_an_id_that_no_finding_has_is_an_error() -> None:
    with pytest.raises(allranks.BadInput, match="gpu-ec is not the id of a finding"):
        allranks.check(KEYS, accept=["gpu-ec"])


def test_what_is_no_json_is_no_run() -> None:
    with pytest.raises(allranks.BadInput, match="not JSON"):
        allranks.plan({**KEYS, "name": object()})


def test_a_mapping_may_hold_any_letter() -> None:
    told = "\U0001f600 \x85\u2028 \\ud83d"
    keys = {"nodes": "localhost", "train": {"command": ["train.py", told]}, "env": {"TOLD": told}}
    described = read(keys)
    assert described.train.command == ("train.py", told) and described.env == {"TOLD": told}


# ---- runs ----


def test_where_there_are_no_runs_none_is_found(home: Path) -> None:
    assert allranks.list_runs() == []
    with pytest.raises(allranks.BadInput, match="there are no runs here yet"):
        allranks.find_run()


def test_a_state_is_read_without_trust() -> None:
    from allranks.api import state_of

    finding = {"id": "gpu-ecc", "verdict": "block", "where": {"node": "n1"}, "saw": "x", "unknown": 1}
    diagnosis = {"cause": "cuda_oom", "confidence": "certain", "where": {"rank": 3}, "newer": True}
    raw = {"id": "r", "state": "failed", "step": "7", "findings": [finding, 3], "diagnosis": diagnosis}
    state = state_of({**raw, "adapter": [], "why": None})
    assert (state.step, state.adapter, state.why, state.has_ended) == (None, None, "", True)
    assert state.findings == (finding_from_json(dict(finding)),)
    assert state.diagnosis is not None and state.diagnosis.where.rank == 3


def test_a_stop_that_leaves_something_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from allranks.runs import cleanup

    answers = iter(
        [{"left": 2, "unreadable": {}}, {"left": 0, "unreadable": {"n1": "no route"}}, {"state": "stopped"}]
    )

    async def stop(run_id: str, save: bool) -> dict:
        return next(answers)

    monkeypatch.setattr(cleanup, "stop", stop)
    run = allranks.Run("x-0101-aaaa")
    with pytest.raises(allranks.Blocked, match="2 of its processes are left"):
        run.stop()
    with pytest.raises(allranks.CouldNotTell, match="n1: no route"):
        run.stop()
    assert run.stop().state == "stopped"


# ---- in an event loop, as in a notebook ----


def test_all_of_it_works_where_an_event_loop_runs(home: Path) -> None:
    async def cell() -> None:
        assert allranks.list_runs() == [] and allranks.plan(KEYS).world_size == 1
        with pytest.raises(allranks.BadInput, match="no runs here yet"):
            allranks.find_run()
        with pytest.raises(allranks.BadInput, match="is not a file"):
            allranks.diagnose("/no/such/log")

    asyncio.run(cell())


def test_leaving_the_watching_closes_what_it_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    from allranks.cli import run_verbs

    closed = []

    class Nodes:
        programs = {"n": object()}  # noqa: RUF012

        async def close(self) -> None:
            closed.append(True)

    async def journal(head: object, run_id: str):
        number = 0
        while True:
            yield allranks.Event(float(number), "beat", "n", 0, {})
            await asyncio.sleep(0.001)
            number += 1

    monkeypatch.setattr(index, "nodes_of", lambda run_id: Nodes())
    monkeypatch.setattr(run_verbs, "journal", journal)
    for event in allranks.Run("x").watch():
        if event.at >= 3:
            break
    assert closed == [True]


def test_what_fails_while_it_is_watched_is_raised(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def nobody(run_id: str) -> None:
        raise allranks.CouldNotTell("no route to it")

    monkeypatch.setattr(index, "nodes_of", nobody)
    with pytest.raises(allranks.CouldNotTell, match="no route"):
        list(allranks.Run("x").watch())


def watched(monkeypatch: pytest.MonkeyPatch, state: str, *told: allranks.Event) -> list[str]:
    """The kinds of events that `watch` yields of a run with this journal, whose head reports this state."""

    class Head:
        async def call(self, *words: str) -> dict[str, str]:
            assert words == ("read", "status", "x")
            return {"state": state}

        async def follow(self, *_: str):
            for event in told:
                yield {"text": event.as_line() + "\n"}

    class Nodes:
        programs = {"n": Head()}  # noqa: RUF012

        async def close(self) -> None:
            pass

    monkeypatch.setattr(index, "nodes_of", lambda run_id: Nodes())
    return [event.kind for event in allranks.Run("x").watch()]


def test_a_journal_that_ends_before_its_run_is_no_end_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = allranks.Event(1.0, "beat", "n", 0, {"step": 4})
    last = allranks.Event(2.0, "state", "n", None, {"state": "succeeded"})
    assert watched(monkeypatch, "running", beat, last) == ["beat", "state"]
    assert watched(monkeypatch, "lost", beat) == ["beat"], "its keeper died"
    with pytest.raises(allranks.CouldNotTell, match="ended while it was running"):
        watched(monkeypatch, "running", beat)


def test_a_slow_watcher_holds_up_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it was read into memory while the caller handled its first event."""
    monkeypatch.setattr(inside_loops, "WAITING", 8)
    made: list[int] = []
    ended: list[bool] = []

    async def many():
        try:
            for number in range(100):
                made.append(number)
                yield number
        finally:
            ended.append(True)

    items = inside_loops.each(many)
    assert next(items) == 0
    time.sleep(0.2)
    assert len(made) <= 10
    assert next(items) == 1
    items.close()
    assert ended == [True] and len(made) < 100, "it is cancelled while it waits"
    assert list(inside_loops.each(many)) == list(range(100))
