"""Every stage of the GPU pack on a CPU with tiny sizes: a typing error would cost the one day that a GPU is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from allranks import spec
from allranks.runs import inspection
from benchmarks._gpu import command, parts, stage_demo, stage_facts, stage_memory, stage_watch, store
from benchmarks._gpu.parts import MEASURED, Machine

pytestmark = pytest.mark.training

CPU_PARTS = {
    "facts": ["machine", "families", "recording"],
    "checks": ["script"],
    "gemm": ["compute"],
    "nccl": ["ladder", "recorder", "hang"],
    "watch": ["gpu-oom"],
    "heartbeats": ["short"],
    "demo": ["one"],
    "save": ["one"],
}
"""What is not here differs from what is here in its numbers or its fault alone: all of it runs in the seldom tier."""


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory):
    """Nothing is kept in the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLRANKS_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory):
    """Runs these parts of a stage through the command, once; its outcomes by part."""
    out = tmp_path_factory.mktemp("gpu")
    known: dict[str, dict[str, Any]] = {}

    def run(stage: str) -> dict[str, Any]:
        if stage not in known:
            words = [word for part in CPU_PARTS[stage] for word in ("--part", part)]
            code = command.main([stage, "--tiny", "--out", str(out), *words])
            found = store.read(out, stage, "cpu")
            assert found is not None
            known[stage] = {"code": code, "out": out, **found["parts"]}
        return known[stage]

    return run


def good(outcome: dict[str, Any]) -> dict[str, Any]:
    assert outcome["state"] == MEASURED, (outcome.get("why"), outcome.get("log"))
    assert outcome["met"] is not False, outcome["data"]
    return outcome["data"]


def test_every_stage_is_tried_here() -> None:
    assert sorted([*CPU_PARTS, "memory"]) == sorted(parts.stages())
    for stage, names in CPU_PARTS.items():
        assert set(names) <= {part.name for part in parts.stage(stage).PARTS}


def test_facts(tried) -> None:
    found = tried("facts")
    machine, families, recording = (good(found[name]) for name in CPU_PARTS["facts"])
    assert machine["torch"]["devices"] == 0 and "torch" in machine["packages"]
    assert "gpus" in families["families"]
    text = parts.stage("facts").table({"machine": machine, "families": families, "recording": recording})
    assert "| gpus |" in text and "| system |" in text
    folder = found["out"] / recording["folder"]
    facts = json.loads((folder / "localhost.json").read_text())
    assert facts["values"]["system"]["hostname"] == "gpu-machine"
    assert str(Path(sys.prefix)) not in json.dumps(facts)
    assert spec.load(str(folder / "run.yaml")).gpus.count == 1
    assert not (found["out"] / "recorded").exists()  # what has no GPU is nobody's recording of one


def test_checks(tried) -> None:
    found = good(tried("checks")["script"])
    assert found["checks"] > 10 and found["code"] == 0
    assert "| script |" in parts.stage("checks").table({"script": found})


def test_gemm(tried) -> None:
    found = good(tried("gemm")["compute"])
    assert found["wrong"] == 0 and found["error"] < 1e-5 and found["flops"] > 0
    assert "no data sheet at hand" in parts.stage("gemm").table({"compute": found})


def test_nccl(tried) -> None:
    found = tried("nccl")
    data = {name: good(found[name]) for name in CPU_PARTS["nccl"]}
    assert data["hang"]["numbers"] == [5, 4]
    text = parts.stage("nccl").table({**data, "shared": data["ladder"]})
    assert "stands in number 5, the other in 4" in text and "| tcp | passed |" in text


@pytest.mark.seldom
def test_memory() -> None:
    """All six configurations in one process; on a GPU each has one of its own."""
    machine = Machine("cpu", None, Path("/nonexistent"))
    plans = {one.name: stage_memory.planned(one, machine) for one in stage_memory.CONFIGURATIONS}
    jobs = [stage_memory.job(one, machine, plans[one.name]) for one in stage_memory.CONFIGURATIONS]
    rows = {row["name"]: row for row in stage_memory.ran(jobs, 240)}
    assert set(rows) == set(plans)
    for one in stage_memory.CONFIGURATIONS:
        row = rows[one.name]
        assert not row["out_of_memory"] and row["resident"] > 0 and len(row["seconds"]) == 1
        assert bool(row["separate_experts"]) is one.unfused
    gpu = Machine("cuda", "NVIDIA H200", machine.out)
    shown = {}
    for one in stage_memory.CONFIGURATIONS:
        plan = stage_memory.planned(one, gpu)
        assert plan.memory is not None
        size = plan.memory["gpu_allocated_bytes"]
        shown[one.name] = stage_memory.compared(
            plan, {**rows[one.name], "allocated": size, "reserved": size}, gpu
        )
    edge = {"rows": 2, **shown["full-zero0"]}
    shown["edge"] = {"usable": edge["usable"], "fits": edge, "does_not_fit": {**edge, "out_of_memory": True}}
    text = stage_memory.table(shown)
    assert "Median error **0.0%** of 6" in text and "said not to fit" in text and "ran out of memory" in text


@pytest.mark.seldom
def test_watch(tried) -> None:
    found = good(tried("watch")["gpu-oom"])
    assert found["right_cause"] and found["right_place"] and "cuda-oom" in found["said"]
    assert "| gpu-oom |" in parts.stage("watch").table({"gpu-oom": found})


def test_heartbeats(tried) -> None:
    found = good(tried("heartbeats")["short"])
    assert found["pairs"] == 2 and found["own_times_told"] > 0
    assert "told their own time by CUDA events" in parts.stage("heartbeats").table({"short": found})


@pytest.mark.seldom
def test_demo(tried) -> None:
    found = good(tried("demo")["one"])
    assert found["state"] == "succeeded" and found["adapter"]["whole"] and len(found["losses"]) == 4
    assert "whole and changed" in parts.stage("demo").table({"one": found})


@pytest.mark.seldom
def test_save(tried) -> None:
    found = good(tried("save")["one"])
    assert found["equal"] and set(found["shares"]) == {"adapter", "checkpoint"}
    assert "| adapter |" in parts.stage("save").table({"one": found})


def run_files(machine: Machine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[spec.Run]:
    """Those of all stages."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(stage_demo, "trained", lambda machine, run: asked.append(run) or {})
    for part in stage_demo.PARTS:
        part.measure(machine)
    asked.append(stage_facts.run_of(machine))
    asked += [stage_watch.run_file(name, folder, machine, 1) for name in stage_watch.ALONE]
    asked += [stage_watch.run_file(name, folder, machine, 2) for name in stage_watch.OF_TWO]
    loaded = []
    for number, run in enumerate(asked):
        path = folder / f"{number}.yaml"
        path.write_text(json.dumps(run))
        loaded.append(spec.load(str(path)))
    return loaded


def test_nothing_stops_the_runs_on_a_machine_with_one_gpu(root: Path, tmp_path: Path, monkeypatch) -> None:
    """By the recorded T4, whose GPU lacks bf16: that alone may be said of it."""
    recorded = json.loads((root / "tests" / "recorded" / "t4" / "localhost.json").read_text())
    for run in run_files(Machine("cuda", "Tesla T4", tmp_path), tmp_path, monkeypatch):
        seen = [inspection.facts_of(node.name, {**recorded, "node": node.name}) for node in run.cluster.nodes]
        stops = {f.id for f in inspection.judge(run, seen).findings if f.stops_launch}
        assert stops - set(run.accept) <= {"precision-unsupported"}, run.name


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_run_files_are_read(device: str, tmp_path: Path, monkeypatch) -> None:
    """Those of a GPU, too: a misspelt key would cost the day."""
    machine = Machine(device, "NVIDIA H200" if device == "cuda" else None, tmp_path)
    models = [run.gpus.model for run in run_files(machine, tmp_path, monkeypatch)]
    assert models == ["H200" if device == "cuda" else "cpu"] * 8


@pytest.mark.seldom
@pytest.mark.parametrize("stage", sorted(parts.stages()))
def test_every_part_of_every_stage_runs(stage: str, tmp_path: Path) -> None:
    command.main([stage, "--tiny", "--out", str(tmp_path)])
    found = store.read(tmp_path, stage, "cpu")
    assert found is not None
    assert set(found["parts"]) == {part.name for part in parts.stage(stage).PARTS}
    for outcome in found["parts"].values():
        good(outcome)
