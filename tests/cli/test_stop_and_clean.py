"""`stop --save` never ends as if it had saved, and `clean` says which models stay."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.cli.verbs import clean, stop
from allranks.core import BadInput, CouldNotTell
from allranks.runs import cleanup, index, last_save
from allranks.runs.last_save import Saving, saving_of

OLD, NEW = (
    {"step": 400, "path": "/work/out/checkpoint-400"},
    {"step": 468, "path": "/work/out/checkpoint-468"},
)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch):
    """`stop` of a run of which so much is known; (exit code, whether and how the run was stopped)."""

    def call(before: Saving | None, after: Any = None, **options: Any) -> tuple[int, list[bool]]:
        stopped: list[bool] = []

        async def find(name: str) -> str:
            return "r-1"

        async def saving(run_id: str) -> Saving | None:
            return before

        async def newest(run_id: str) -> Any:
            return after

        async def stop_it(run_id: str, save: bool) -> dict[str, Any]:
            stopped.append(save)
            return {"id": run_id, "state": "stopped", "left": 0, "unreadable": {}}

        monkeypatch.setattr(index, "find", find)
        monkeypatch.setattr(last_save, "saving", saving)
        monkeypatch.setattr(last_save, "newest_save", newest)
        monkeypatch.setattr(cleanup, "stop", stop_it)
        given = {"run": "r-1", "json": False, "dry_run": False, "save": True, "yes": False, **options}
        return stop.call(Namespace(**given)), stopped

    return call


FULL = Saving(False, trains=True, last=OLD)


@pytest.mark.parametrize("json", [False, True])
def test_a_full_fine_tune_is_not_stopped_as_if_it_could_be_saved(stopping, capsys, json: bool) -> None:
    code, stopped = stopping(FULL, json=json)
    said = capsys.readouterr().err
    assert (code, stopped) == (1, [])
    assert "r-1 cannot be saved before it is stopped: its ranks cannot save on request" in said
    assert "Its newest save is of step 400: /work/out/checkpoint-400" in said and "loses" in said
    assert "stop r-1 without a save?: not done" in said


def test_with_a_yes_it_is_stopped_and_the_exit_code_says_that_nothing_was_saved(stopping, capsys) -> None:
    code, stopped = stopping(FULL, yes=True)
    assert (code, stopped) == (1, [True])
    assert "nothing was saved before the stop" in capsys.readouterr().out


def test_what_was_saved_is_named(stopping, capsys) -> None:
    code, stopped = stopping(Saving(True, True, OLD), NEW, yes=True)
    assert (code, stopped) == (0, [True])
    assert "saved: of step 468: /work/out/checkpoint-468" in capsys.readouterr().out


@pytest.mark.parametrize("after", [None, OLD])
def test_a_save_that_did_not_come_is_no_success(stopping, capsys, after: Any) -> None:
    code, _ = stopping(Saving(True, True, OLD), after, yes=True)
    assert code == 1 and "nothing was saved before the stop" in capsys.readouterr().out


def test_a_run_that_has_ended_or_trains_nothing_yet_is_stopped_as_ever(stopping, capsys) -> None:
    assert stopping(None, yes=True) == (0, [True])
    assert stopping(Saving(False, trains=False), yes=True) == (0, [True])
    assert "saved" not in capsys.readouterr().out


def test_a_head_that_does_not_answer_is_said(stopping, capsys) -> None:
    assert stopping(Saving(False, why="no route to host")) == (1, [])
    assert "it is not known whether it can save now (no route to host)" in capsys.readouterr().err


def test_what_a_run_can_save_is_read_from_its_state() -> None:
    assert saving_of({"state": "running", "step": 9, "can_save": True, "saved": OLD}) == Saving(
        True, True, OLD
    )
    assert saving_of({"state": "running", "step": 9}).refusal()
    assert not saving_of({"state": "running", "step": None}).refusal()
    assert saving_of({"state": None, "why": "silent"}).why == "silent"


# ---- clean ----


def cleaned(
    monkeypatch: pytest.MonkeyPatch, rest: bool = True, **options: Any
) -> list[tuple[str, list[str]]]:
    """What the nodes were asked to do by `clean` of a run with a model on node-0."""
    asked: list[tuple[str, list[str]]] = []

    async def runs() -> list[dict[str, Any]]:
        return [{"id": "r-1", "state": "succeeded", "directory": "/home/runs/r-1"}]

    async def sweep(run_id: str, dry_run: bool) -> list[dict[str, Any]]:
        return [{"node": "node-0", "processes": []}]

    async def saved_in(run_id: str) -> tuple[list[dict[str, Any]], bool]:
        return [{"node": "node-0", "path": "/home/runs/r-1/output", "bytes": 3 << 20}], rest

    async def remove(run_id: str, with_models: bool) -> list[dict[str, Any]]:
        asked.append((run_id, ["models"] if with_models else []))
        return []

    monkeypatch.setattr(index, "all_runs", runs)
    monkeypatch.setattr(cleanup, "sweep", sweep)
    monkeypatch.setattr(cleanup, "saved_in", saved_in)
    monkeypatch.setattr(cleanup, "remove_directories", remove)
    given = {
        "run": None,
        "json": False,
        "dry_run": False,
        "files": True,
        "models": False,
        "cache": False,
        "yes": True,
        **options,
    }
    assert clean.call(Namespace(**given)) == 0
    return asked


def test_clean_names_the_models_that_stay(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert cleaned(monkeypatch) == [("r-1", [])]
    said = capsys.readouterr().out
    assert "node-0  /home/runs/r-1/output (3.0 MiB): a saved model, stays; --models removes it" in said


def test_models_go_with_their_own_option_alone(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert cleaned(monkeypatch, models=True) == [("r-1", ["models"])]
    assert "a saved model, is removed" in capsys.readouterr().out
    with pytest.raises(BadInput, match="--models without --files"):
        cleaned(monkeypatch, files=False, models=True)


def test_a_run_of_which_the_models_alone_are_left_is_not_asked_about(
    monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    assert cleaned(monkeypatch, rest=False) == []
    said = capsys.readouterr().out
    assert "a saved model, stays" in said and "nothing is left" not in said


@pytest.mark.parametrize(
    ("node", "code", "said"),
    [
        ({"processes": [{"pid": 4711, "name": "python"}]}, 1, "r-1  node-0  did not end: pid 4711 python"),
        (
            {"processes": [], "error": "docker container box stays: no answer", "keeps": True},
            3,
            "r-1  node-0  could not be cleaned: docker container box stays: no answer",
        ),
    ],
)
def test_what_a_clean_leaves_is_said_and_keeps_the_folder(
    monkeypatch: pytest.MonkeyPatch, capsys, node: dict[str, Any], code: int, said: str
) -> None:
    removed: list[str] = []

    async def runs() -> list[dict[str, Any]]:
        return [{"id": "r-1", "state": "succeeded", "directory": "/home/runs/r-1"}]

    async def sweep(run_id: str, dry_run: bool) -> list[dict[str, Any]]:
        return [{"node": "node-0", **node}]

    async def saved_in(run_id: str) -> tuple[list[dict[str, Any]], bool]:
        return [], True

    async def remove(run_id: str, with_models: bool) -> list[dict[str, Any]]:
        removed.append(run_id)
        return []

    monkeypatch.setattr(index, "all_runs", runs)
    monkeypatch.setattr(cleanup, "sweep", sweep)
    monkeypatch.setattr(cleanup, "saved_in", saved_in)
    monkeypatch.setattr(cleanup, "remove_directories", remove)
    options = Namespace(run=None, json=False, dry_run=False, files=True, models=False, cache=False, yes=True)
    assert clean.call(options) == code and removed == []
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("waits", [True, False])
def test_a_job_that_the_queue_did_not_cancel_stays_known(
    monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    forgotten: list[str] = []

    class Queue:
        NAME = "SLURM"

        async def cancel(self, number: str, run_id: str) -> bool:
            return False

        async def job(self, number: str) -> Any:
            return SimpleNamespace(waits=waits, runs=False)

    monkeypatch.setattr(index, "job_of", lambda entry: (Queue(), "4242"))
    monkeypatch.setattr(index, "entry", lambda run_id: {})
    monkeypatch.setattr(index, "forget", forgotten.append)
    if waits:
        with pytest.raises(CouldNotTell, match="job 4242 of r-1 is still there"):
            asyncio.run(cleanup.stop_waiting("r-1", "4242"))
    else:
        assert asyncio.run(cleanup.stop_waiting("r-1", "4242"))["cancelled"] is None
    assert forgotten == ([] if waits else ["r-1"])
