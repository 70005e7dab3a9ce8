"""A start that is cut off, and a clean-up that a node was away from: both are known afterwards, and can be ended."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.cli import main
from allranks.core import Blocked, Node
from allranks.node import paths, processes
from allranks.runs import cleanup, controller, index
from allranks.spec import Run, loads
from allranks.transport import NodeProgram, Nodes, Unreachable
from allranks.transport.local import LocalTransport

RUN_ID = "lora-1122-abcd"


class Machine(LocalTransport):
    """A node with a home of its own, on this machine; one that is `away` does not answer."""

    def __init__(self, name: str, home: Path):
        super().__init__(name)
        self.home, self.away = home, False

    async def run(self, argv: Sequence[str], **options: Any) -> Any:
        if self.away:
            raise Unreachable(self.node, "timeout", "it does not answer")
        return await super().run(["env", f"ALLRANKS_HOME={self.home}", *argv], **options)


class Cluster:
    def __init__(self, folder: Path):
        self.machines = {name: Machine(name, folder / name) for name in ("a", "b")}
        self.run: Run = loads("name: lora\nnodes: [a, b]\ntrain: {command: [train.py]}\n")

    def nodes(self, _run_id: str = "") -> Nodes:
        described = {node.name: node for node in self.run.cluster.nodes}
        return Nodes({n: NodeProgram(m, sys.executable) for n, m in self.machines.items()}, described)

    def folder(self, name: str) -> Path:
        return self.machines[name].home / "runs" / RUN_ID

    def put(self, *names: str, state: str = "") -> None:
        for name in names:
            made = paths.RunDirectory(RUN_ID, home=str(self.machines[name].home))
            made.create(keeper=bool(state))
            if state:
                paths.write_json(made.keeper.state, {"state": state, "name": "lora"})

    def folders(self) -> list[str]:
        return [name for name in self.machines if self.folder(name).exists()]


@pytest.fixture
def cluster(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path)
    monkeypatch.setattr(index, "nodes_of", made.nodes)
    return made


def cut_off(cluster: Cluster) -> None:
    """As a controller leaves it that was killed."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    entry = index.entry_of(RUN_ID, cluster.run)
    index.write(RUN_ID, {**entry, "starting": processes.record_of(processes.identify("", RUN_ID, child.pid))})
    child.kill()
    child.communicate()


def shown() -> dict[str, Any]:
    (run,) = asyncio.run(index.all_runs())
    return run


# ---- what ps, stop and clean make of it ----


@pytest.mark.lengthy
def test_while_it_is_being_started_ps_says_so(cluster: Cluster) -> None:
    index.remember_starting(RUN_ID, cluster.run)
    assert (shown()["state"], shown()["nodes"]) == ("starting", ["a", "b"])
    cluster.put("a", "b")
    assert shown()["state"] == "starting" and "starts it" in shown()["why"]
    cluster.machines["a"].away = True
    assert shown()["state"] == "starting"


@pytest.mark.lengthy
@pytest.mark.parametrize("names", [[], ["a"], ["a", "b"]], ids=["nothing", "the head", "both"])
def test_a_start_that_was_cut_off_is_shown_stopped_and_cleaned(
    cluster: Cluster, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off(cluster)
    cluster.put(*names)
    assert shown()["state"] == "lost" and shown()["why"].startswith("its start was interrupted: process ")
    assert main(["stop", RUN_ID, "-y"]) == 0
    assert f"{RUN_ID} lost: 0 of its processes are left" in capsys.readouterr().out
    assert main(["clean", RUN_ID, "--files", "-y"]) == 0
    assert cluster.folders() == [] and index.entries() == []


@pytest.mark.lengthy
def test_nobody_takes_a_start_for_lost_whose_head_does_not_answer(cluster: Cluster) -> None:
    cut_off(cluster)
    cluster.machines["a"].away = True
    assert shown()["state"] is None and "does not answer" in shown()["why"]
    assert main(["clean", RUN_ID, "--files", "-y"]) == 3
    assert [entry["id"] for entry in index.entries()] == [RUN_ID]


def test_what_the_keeper_says_counts_once_there_is_one(cluster: Cluster) -> None:
    cut_off(cluster)
    cluster.put("a", state="failed")
    assert shown()["state"] == "failed" and "cut_off" not in shown()


# ---- clean --files with a node away ----


@pytest.mark.lengthy
def test_a_node_that_is_away_keeps_the_head_and_the_entry_until_it_was_cleaned(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    index.remember(RUN_ID, cluster.run)
    cluster.put("a", state="succeeded")
    cluster.put("b")
    cluster.machines["b"].away = True
    assert main(["clean", "--files", "-y"]) == 3
    told = capsys.readouterr().out
    assert "b  could not be cleaned: b: it does not answer" in told
    assert f"allranks clean --files {RUN_ID}" in told
    assert cluster.folders() == ["a", "b"] and shown()["state"] == "succeeded"
    cluster.machines["b"].away = False
    assert main(["clean", "--files", "-y"]) == 0
    assert cluster.folders() == [] and index.entries() == []


@pytest.mark.lengthy
def test_a_dry_run_that_could_not_look_at_a_node_does_not_say_fine(cluster: Cluster) -> None:
    index.remember(RUN_ID, cluster.run)
    cluster.put("a", state="succeeded")
    cluster.machines["b"].away = True
    assert main(["clean", "--files", "-n", "--json"]) == 3


@pytest.mark.lengthy
def test_what_other_nodes_hold_is_cleaned_if_the_heads_folder_is_gone(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    index.remember(RUN_ID, cluster.run)
    cluster.put("a", state="succeeded")
    cluster.put("b")
    shutil.rmtree(cluster.folder("a"))
    cluster.machines["b"].away = True
    assert main(["clean", RUN_ID, "--files", "-y"]) == 3
    assert "left alone, its state is unknown" in capsys.readouterr().out
    cluster.machines["b"].away = False
    assert main(["clean", RUN_ID, "--files", "-y"]) == 0
    assert cluster.folders() == [] and index.entries() == []


# ---- the start itself ----


@pytest.fixture
def start(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """`submit` with its check and its start taken out: `begun` is set when it would prepare, then it waits."""
    found = SimpleNamespace(run=cluster.run, plan=None, findings=(), stopping=list)
    told = SimpleNamespace(begun=asyncio.Event(), entry={})

    async def inspected(*_: Any) -> Any:
        return found

    async def prepare(_starting: Any) -> None:
        told.entry = index.entry(RUN_ID)
        told.begun.set()
        await asyncio.sleep(600)

    monkeypatch.setattr(controller, "inspect", inspected)
    monkeypatch.setattr(controller, "freed", inspected)
    monkeypatch.setattr(controller.Starting, "prepare", prepare)
    told.submit = lambda: controller.submit(
        cluster.nodes(), cluster.run, lambda _event: None, False, run_id=RUN_ID
    )
    return told


def test_it_is_remembered_before_anything_is_sent_and_forgotten_if_it_is_undone(
    cluster: Cluster, start: SimpleNamespace
) -> None:
    async def interrupted() -> None:
        task = asyncio.ensure_future(start.submit())
        await asyncio.wait_for(start.begun.wait(), 60)
        assert start.entry["starting"]["pid"] > 0 and [n["name"] for n in start.entry["nodes"]] == ["a", "b"]
        assert cluster.folders() == []
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert index.entries() == []


def test_what_could_not_be_undone_stays_known(
    cluster: Cluster, start: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def undo(starting: controller.Starting) -> bool:
        starting._not_undone("b", "it does not answer")
        return not starting.not_undone

    monkeypatch.setattr(controller.Starting, "undo", undo)

    async def interrupted() -> None:
        task = asyncio.ensure_future(start.submit())
        await asyncio.wait_for(start.begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert [entry["id"] for entry in index.entries()] == [RUN_ID]


def test_stop_calls_off_a_start_which_undoes_itself(cluster: Cluster, start: SimpleNamespace) -> None:
    async def stopped() -> dict[str, Any]:
        task = asyncio.ensure_future(start.submit())
        await asyncio.wait_for(start.begun.wait(), 60)
        result = await asyncio.wait_for(cleanup.stop(RUN_ID), 60)
        with pytest.raises(Blocked, match="called its start off"):
            await task
        return result

    assert asyncio.run(stopped()) == {"id": RUN_ID, "state": "stopped", "left": 0, "unreadable": {}}
    assert index.entries() == []


def test_a_call_that_starts_a_supervisor_ends_before_the_start_is_undone(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a node starts its supervisor: stopped too early, the supervisor would come up afterwards."""
    heard: list[str] = []
    begun, answer = asyncio.Event(), asyncio.Event()

    class Slow:
        node = "a"

        async def call(self, verb: str, *_words: str, **_options: Any) -> dict[str, Any]:
            heard.append(verb)
            begun.set()
            await answer.wait()
            heard.append(f"{verb} has ended")
            return {"runs": []}

    async def nothing(*_: Any) -> list[Any]:
        return []

    async def interrupted() -> None:
        slow: Any = Slow()
        inside = Nodes({"a": slow}, {"a": Node("a", "10.0.0.1", 0)})
        one: Any = controller.Starting.__new__(controller.Starting)
        one.run_id, one.key, one.engine, one.touched, one.not_undone = RUN_ID, "k", None, True, False
        one.under_way, one.secrets, one.prepared = set(), {}, SimpleNamespace(inside=inside)
        one.inspection = SimpleNamespace(activated={})
        one.run = cluster.run
        monkeypatch.setattr(controller.prepare, "undo", nothing)
        starts = asyncio.ensure_future(one._start(slow, SimpleNamespace(job={}, node=Node("a", "a", 0))))
        await asyncio.wait_for(begun.wait(), 60)
        starts.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starts
        undoing = asyncio.ensure_future(one.undo())
        await asyncio.sleep(0)
        assert heard == ["start"]
        answer.set()
        assert await undoing is True
        assert heard[:2] == ["start", "start has ended"] and "read" in heard[2:]

    asyncio.run(interrupted())


def test_the_entry_says_who_starts_it_and_no_more_once_it_runs(cluster: Cluster) -> None:
    index.remember_starting(RUN_ID, cluster.run)
    text = json.loads(index.place(RUN_ID).read_text())
    assert processes.lives(text["starting"])
    index.remember(RUN_ID, cluster.run)
    assert "starting" not in index.entry(RUN_ID)
