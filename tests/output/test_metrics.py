"""What `allranks metrics` tells Prometheus, and that the dashboard asks for nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from allranks import cli
from allranks.cli import metrics_verb
from allranks.core import Event
from allranks.output.metrics import Followed, RunCollector, of_runs


def scraped(*runs: Followed) -> dict[tuple[str, ...], float]:
    """Name and labels → value, as Prometheus' own parser reads them."""
    registry = CollectorRegistry()
    registry.register(RunCollector({one.id: one for one in runs}))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


GPU = {"utilization": 80.0, "temperature": 61.0, "power_watts": 300.0}


def trained() -> Followed:
    one = Followed("run-1", "mine", reached=True)
    one.add(Event(100.0, "phase", None, None, {"phase": "watch", "why": ""}))
    for rank, node in enumerate(("a", "b")):
        one.add(Event(101.0, "start", node, rank, {"pid": 7, "start_time": 1, "host": node, "world_size": 2}))
        steps = [[1, 2.5, 0.5, 0.1, 1000, 0.001], [2, 2.0, 0.5 + rank, 0.1, 1000, 0.001, None, 1.25]]
        beat = {"phase": "training", "step": 2, "total_steps": 10, "steps": steps, "rss_bytes": 1 << 30}
        one.add(Event(102.0, "beat", node, rank, beat))
    one.add(Event(103.0, "sample", "a", None, {"memory_available_bytes": 5, "gpus": [GPU]}))
    one.add(Event(104.0, "finding", None, None, {"id": "x", "verdict": "warn"}))
    return one


def test_a_run_that_trains() -> None:
    found = scraped(trained())
    assert found["allranks_run_info", "name=mine", "run=run-1"] == 1
    assert found["allranks_run_state", "allranks_run_state=running", "run=run-1"] == 1
    assert found["allranks_run_state", "allranks_run_state=failed", "run=run-1"] == 0
    assert found["allranks_run_reached", "run=run-1"] == 1
    assert (
        found["allranks_run_step", "run=run-1"] == 2
        and found["allranks_run_planned_steps", "run=run-1"] == 10
    )
    assert found["allranks_run_loss", "run=run-1"] == 2.0
    assert found["allranks_rank_step_seconds", "node=b", "rank=1", "run=run-1"] == 1.0
    assert found["allranks_run_tokens_per_second", "run=run-1"] == pytest.approx(2000 / 1.0 + 2000 / 2.0)
    assert found["allranks_rank_resident_memory_bytes", "node=a", "rank=0", "run=run-1"] == 1 << 30
    assert found["allranks_gpu_utilization_ratio", "gpu=0", "node=a", "run=run-1"] == 0.8
    assert found["allranks_gpu_temperature_celsius", "gpu=0", "node=a", "run=run-1"] == 61.0
    assert found["allranks_gpu_power_watts", "gpu=0", "node=a", "run=run-1"] == 300.0
    assert found["allranks_run_gradient_norm", "run=run-1"] == 1.25
    assert found["allranks_node_memory_available_bytes", "node=a", "run=run-1"] == 5
    assert found["allranks_run_findings", "run=run-1", "severity=warning"] == 1
    assert found["allranks_run_findings", "run=run-1", "severity=error"] == 0


def test_what_is_not_known_is_left_out_and_is_not_zero() -> None:
    names = {key[0] for key in scraped(Followed("run-2"))}
    assert "allranks_run_loss" not in names and "allranks_run_step" not in names
    assert {"allranks_run_reached", "allranks_run_state"} <= names


def test_a_run_that_failed_names_its_cause() -> None:
    one = trained()
    one.add(Event(110.0, "diagnosis", None, None, {"cause": "out-of-memory", "why": "rank 1\n# TYPE evil"}))
    one.add(Event(111.0, "state", None, None, {"state": "failed"}))
    found = scraped(one)
    assert found["allranks_run_info", "cause=out-of-memory", "name=mine", "run=run-1"] == 1
    assert found["allranks_run_state", "allranks_run_state=failed", "run=run-1"] == 1


def test_what_a_node_sends_breaks_no_line() -> None:
    one = Followed("run-3", 'a"b\nallranks_run_step 9')
    one.add(Event(1.0, "beat", 'n"\n# EOF', 0, {"phase": "training", "step": 1}))
    assert scraped(one)["allranks_rank_step", 'node=n"\n# EOF', "rank=0", "run=run-3"] == 1


def test_names_follow_the_conventions() -> None:
    """Prometheus, "Metric and label naming": base units at the end, no abbreviations, one prefix."""
    units = ("_seconds", "_bytes", "_ratio", "_info", "_celsius", "_watts")
    bare = {
        "run",
        "run_state",
        "run_reached",
        "run_step",
        "run_planned_steps",
        "run_loss",
        "run_learning_rate",
        "run_gradient_norm",
        "rank_step",
        "rank_alive",
    }
    counted = {"run_saved_checkpoints", "run_findings", "node_lost", "run_tokens_per_second"}
    for name, family in of_runs().items():
        assert re.fullmatch(r"allranks_[a-z_]+", family.name) and family.documentation.endswith(".")
        assert name.endswith(units) or name in bare | counted, name


def test_the_dashboard_asks_for_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["metrics", "--dashboard"]) == 0
    printed = capsys.readouterr().out
    board = json.loads(printed)
    assert printed == resources.files("allranks.output").joinpath("grafana.json").read_text(encoding="utf-8")
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"allranks_\w+(?=\{run=)", target["expr"])
    }
    known = {f"allranks_{name}" for name in of_runs()}
    assert asked and asked <= known


def test_without_runs_it_says_so_in_metrics(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["metrics", "--once"]) == 0
    assert capsys.readouterr().out.endswith("# EOF\n")


def test_a_textfile_that_cannot_be_written_is_bad_input(home: Path, tmp_path: Path, capsys) -> None:
    assert cli.main(["metrics", "--textfile", str(tmp_path / "no" / "such" / "x.prom")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "70000", "http"])
def test_a_port_that_is_none_is_bad_input(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["metrics", "--port", port])
    assert ended.value.code == 2 and port in capsys.readouterr().err


def test_a_run_whose_keeper_died_ends_with_the_state_that_its_head_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its journal has no last state, and was read again from its beginning every five seconds."""
    reads: list[str] = []

    class Head:
        async def follow(self, *_: str) -> AsyncIterator[dict[str, str]]:
            reads.append("journal")
            yield {"text": json.dumps({"at": 1.0, "kind": "phase", "data": {"phase": "watch"}}) + "\n"}

        async def call(self, *words: str) -> dict[str, Any]:
            reads.append(" ".join(words))
            return {"state": "lost", "diagnosis": {"cause": "node-failure"}}

    @contextlib.asynccontextmanager
    async def connected(_: str) -> AsyncIterator[Head]:
        yield Head()

    monkeypatch.setattr(metrics_verb.index, "connected_head", connected)
    monkeypatch.setattr(metrics_verb, "AGAIN_SECONDS", 0.0)
    run = Followed("r-1")
    asyncio.run(asyncio.wait_for(metrics_verb.one_run(run, once=False), 10.0))
    assert (run.state, run.cause, reads) == ("lost", "node-failure", ["journal", "read status r-1"])


def test_runs_that_have_ended_are_forgotten_after_their_last_state_was_collected() -> None:
    runs = {name: Followed(name) for name in ("a", "b")}
    runs["a"].run.state, runs["b"].run.state = "succeeded", "running"
    cancelled: list[bool] = []
    tasks: Any = {name: SimpleNamespace(cancel=lambda: cancelled.append(True)) for name in runs}
    ended_at: dict[str, float] = {}
    for now, left in ((0.0, ["a", "b"]), (300.0, ["a", "b"]), (300.1, ["b"]), (900.0, ["b"])):
        metrics_verb.forget(runs, tasks, ended_at, now)
        assert list(runs) == list(tasks) == left
    assert cancelled == [True] and list(ended_at) == ["a"], "it is not followed again"


class SlowHead:
    """A head that sends its journal of four steps piece by piece, and then stays silent."""

    def __init__(self, pause: float) -> None:
        self.pause = pause
        beats = [
            {"at": float(n), "kind": "beat", "node": "a", "rank": 0, "data": {"phase": "training", "step": n}}
            for n in range(1, 5)
        ]
        self.lines = [json.dumps(beat) + "\n" for beat in beats]

    async def call(self, *words: str) -> dict[str, Any]:
        assert words == ("read", "chunk", "r-1", "keeper/journal.jsonl", "0", "0")
        return {"size_bytes": sum(map(len, self.lines))}

    async def follow(self, *_: str) -> AsyncIterator[dict[str, str]]:
        for line in self.lines:
            await asyncio.sleep(self.pause)
            yield {"text": line}
        await asyncio.sleep(3600)


@pytest.mark.parametrize(("limit", "reached"), [(20.0, True), (0.8, False)])
def test_one_look_waits_for_the_whole_journal(
    limit: float, reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It printed the step that had come one second after the first event."""

    @contextlib.asynccontextmanager
    async def connected(_: str) -> AsyncIterator[SlowHead]:
        yield SlowHead(0.5)

    async def wanted(_: list[str]) -> list[tuple[str, str]]:
        return [("r-1", "night")]

    monkeypatch.setattr(metrics_verb.index, "connected_head", connected)
    monkeypatch.setattr(metrics_verb, "wanted", wanted)
    monkeypatch.setattr(metrics_verb, "ONCE_SECONDS", limit)
    runs: dict[str, Followed] = {}
    asyncio.run(metrics_verb.follow([], runs, True, 0.0, lambda: None))
    assert runs["r-1"].reached is reached
    assert (runs["r-1"].run.step == 4) is reached
