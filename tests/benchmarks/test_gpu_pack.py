"""The GPU pack without a GPU and without torch: what is kept, what is written, what is never said."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allranks.plan.hardware import gpu_named
from benchmarks import _page
from benchmarks._faults import FAULTS
from benchmarks._gpu import (
    command,
    pages,
    parts,
    stage_gemm,
    stage_memory,
    stage_nccl,
    stage_watch,
    store,
    wheels,
)
from benchmarks._gpu.parts import MEASURED, Machine, Part
from benchmarks._gpu.redaction import scrubbed
from tests.harness import until

LIMIT_SECONDS = 600
"""Of one command where the pack may run one day."""


@pytest.fixture
def cuda(tmp_path: Path) -> Machine:
    return Machine("cuda", "NVIDIA H200", tmp_path)


@pytest.fixture
def cpu(tmp_path: Path) -> Machine:
    return Machine("cpu", None, tmp_path)


# ---- the stages ----


def test_every_stage_is_in_the_order_and_over_in_ten_minutes() -> None:
    assert parts.stages() == list(parts.ORDER)
    for name in parts.stages():
        module = parts.stage(name)
        assert module.TITLE and callable(module.table)
        names = [part.name for part in module.PARTS]
        assert len(set(names)) == len(names)
        assert sum(part.seconds for part in module.PARTS) < LIMIT_SECONDS, name
        # A part is only started if its limit is within what is left: one that were longer would never run.
        assert max(part.seconds for part in module.PARTS) < 60 * command.MINUTES


def test_a_stage_that_lacks_a_package_is_left_out_and_ends_no_other(monkeypatch, cuda: Machine) -> None:
    monkeypatch.setattr(parts, "ORDER", (*parts.ORDER, "absent"))

    def absent(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'nobody_has_this'", name="nobody_has_this.inner")

    monkeypatch.setattr(parts.importlib, "import_module", absent)
    (part,) = parts.stage("absent").PARTS
    outcome = parts.looked(part, cuda)
    assert (outcome["state"], outcome["lacks"]) == ("left out", ["nobody_has_this"])


def test_a_part_without_its_package_was_not_looked_at(cuda: Machine) -> None:
    part = Part("one", lambda machine: {"met": True}, 1.0, ("nobody_has_this",))
    outcome = parts.looked(part, cuda)
    assert (outcome["state"], outcome["met"]) == ("left out", None)
    assert "nobody_has_this" in outcome["why"]
    assert command.code_of({"stage": {"one": outcome}}) == 3


def test_codes_tell_a_failure_from_what_was_not_looked_at() -> None:
    good = {"state": MEASURED, "met": True}
    assert command.code_of({"s": {"a": good}}) == 0
    assert command.code_of({"s": {"a": good, "b": {"state": "not started", "met": None}}}) == 3
    assert command.code_of({"s": {"a": good, "b": {}}}) == 3
    assert command.code_of({"s": {"a": {"state": MEASURED, "met": False}, "b": {"state": "left out"}}}) == 1
    assert command.code_of({"s": {"a": {"state": "timed out", "met": None}}}) == 1


# ---- parts apart, saved, resumed ----


def fake(monkeypatch, outcomes: list[dict[str, Any]]) -> list[str]:
    """`apart` answers with these, in turn; the names that it was asked for."""
    asked: list[str] = []

    def answer(stage: str, part: Part, machine: Machine) -> dict[str, Any]:
        asked.append(f"{stage} {part.name}")
        return {"seconds": 1.0, "limit": part.seconds, "met": None, "why": "", **outcomes.pop(0)}

    monkeypatch.setattr(command, "apart", answer)
    return asked


def options(*words: str) -> Any:
    return command.parser().parse_args(words)


def test_what_was_measured_is_kept_and_the_rest_is_tried_again(monkeypatch, cuda: Machine) -> None:
    names = [part.name for part in stage_nccl.PARTS]
    first: list[dict[str, Any]] = [
        {"state": state, "data": {"x": 1}} for state in (MEASURED, "failed", "timed out", MEASURED)
    ]
    asked = fake(monkeypatch, first)
    outcomes = command.measured(cuda, ["nccl"], options("nccl"))
    assert asked == [f"nccl {name}" for name in names]  # a failure ended no other
    assert command.code_of(outcomes) == 1
    asked = fake(monkeypatch, [{"state": MEASURED, "data": {}}, {"state": MEASURED, "data": {}}])
    again = command.measured(cuda, ["nccl"], options("nccl"))
    assert asked == [f"nccl {name}" for name in names[1:3]]
    assert again["nccl"][names[0]]["data"] == {"x": 1}
    assert command.code_of(again) == 0


def test_what_came_along_with_the_tree_is_not_measured_again(
    monkeypatch, cuda: Machine, tmp_path: Path
) -> None:
    monkeypatch.setattr(store, "FOLDER", tmp_path / "tree")
    store.write(store.FOLDER, result("cuda", "NVIDIA H200", data={"x": 1}))
    asked = fake(monkeypatch, [])
    machine = Machine("cuda", "NVIDIA H200", tmp_path / "bare")
    outcomes = command.measured(machine, ["gemm"], options("gemm"))
    assert asked == [] and outcomes["gemm"]["compute"]["data"] == {"x": 1}
    asked = fake(monkeypatch, [{"state": MEASURED, "data": {"x": 2}}])
    other = command.measured(Machine("cuda", "Tesla T4", tmp_path / "bare"), ["gemm"], options("gemm"))
    assert asked == ["gemm compute"] and other["gemm"]["compute"]["data"] == {"x": 2}


def test_a_later_failure_replaces_no_measurement(monkeypatch, cuda: Machine) -> None:
    fake(monkeypatch, [{"state": MEASURED, "data": {"x": 1}}])
    command.measured(cuda, ["gemm"], options("gemm"))
    fake(monkeypatch, [{"state": "failed", "why": "the GPU is busy"}])
    command.measured(cuda, ["gemm"], options("gemm", "--again"))
    kept = store.read(cuda.out, "gemm", "cuda")
    assert kept and kept["parts"]["compute"]["data"] == {"x": 1}


def test_a_part_that_cannot_be_over_in_time_is_not_started(monkeypatch, cuda: Machine) -> None:
    asked = fake(monkeypatch, [])
    outcomes = command.measured(cuda, ["gemm"], options("gemm", "--minutes", "1"))
    assert asked == [] and outcomes["gemm"]["compute"]["state"] == "not started"
    text = command.summary(cuda, ["gemm"], outcomes)
    assert "0 of 1 parts measured; missing: compute (not started)" in text


def test_a_part_is_ended_at_its_limit_with_what_it_started(monkeypatch) -> None:
    monkeypatch.setattr(parts, "END_SECONDS", 0.2)
    deaf = "import signal, subprocess, sys, time; signal.signal(15, signal.SIG_IGN); "
    deaf += "print(subprocess.Popen(['sleep', '300']).pid, flush=True); time.sleep(300)"
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    inner = int(child.stdout.readline())
    assert parts.waited(child, 0.1) is None
    assert child.returncode == -signal.SIGKILL
    until(
        lambda: not Path(f"/proc/{inner}/stat").exists() or state_of(inner) == "Z",
        "what the part had started",
    )


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_part_runs_in_a_process_of_its_own_and_says_why_it_failed(cuda: Machine, monkeypatch) -> None:
    outcome = parts.apart("gemm", Part("nobody", lambda machine: {}, 60.0), cuda)
    assert outcome["state"] == "failed" and "StopIteration" in outcome["log"]


# ---- a CPU is no GPU ----


def result(device: str, gpu: str | None, stage: str = "gemm", **more: Any) -> dict[str, Any]:
    return {
        "stage": stage,
        "device": device,
        "gpu": gpu,
        "machine": "2 cores",
        "command": f"make bench-gpu STAGE={stage}",
        "date": "2026-01-02",
        "parts": {"compute": {"state": MEASURED, "why": "", "met": None, "data": {}, **more}},
    }


def test_a_try_on_a_cpu_has_a_file_of_its_own_and_no_section(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    store.write(tmp_path, result("cpu", None))
    pages.write(tmp_path, page)
    assert (tmp_path / "gemm.cpu.json").exists() and not (tmp_path / "gemm.json").exists()
    assert list(_page.sections(page.read_text())) == ["gpu"]
    text = page.read_text()
    assert "| gemm |" in text and "No GPU has measured facts, checks, gemm" in text
    row = next(line for line in text.splitlines() if line.startswith("| gemm |"))
    assert row.split("|")[3].strip() == "open" and "2026-01-02" in row.split("|")[4]


def test_a_section_of_a_gpu_outlives_a_try_on_a_cpu(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    store.write(tmp_path, result("cuda", "NVIDIA H200", data=judged(788e12, 4.3e12)))
    pages.write(tmp_path, page)
    before = _page.sections(page.read_text())["gpu_gemm"]
    assert "NVIDIA H200" in before and "788 TFLOP/s" in before
    store.write(tmp_path, result("cpu", None))
    pages.write(tmp_path, page)
    assert _page.sections(page.read_text())["gpu_gemm"] == before


def test_no_section_is_made_of_a_cpu() -> None:
    with pytest.raises(ValueError, match="not on a GPU"):
        pages.section(result("cpu", None))
    with pytest.raises(ValueError, match="not on a GPU"):
        pages.section(result("cuda", None))


def test_a_file_that_says_another_device_than_its_name_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "gemm.json").write_text(json.dumps(result("cpu", None)))
    assert store.read(tmp_path, "gemm", "cuda") is None
    with pytest.raises(ValueError, match="says stage gemm on cpu"):
        store.take(tmp_path, tmp_path / "taken", tmp_path / "recorded")


def test_results_come_home_as_one_file(tmp_path: Path) -> None:
    there = tmp_path / "there"
    store.write(there, result("cuda", "NVIDIA H200"))
    recorded = there / "recorded" / "h200-recorded"
    recorded.mkdir(parents=True)
    (recorded / "localhost.json").write_text("{}")
    store.archive(there, tmp_path / "all.tgz")
    taken = store.take(tmp_path / "all.tgz", tmp_path / "here", tmp_path / "tests")
    assert taken == ["gemm.json", "recorded/h200-recorded"]
    assert store.read(tmp_path / "here", "gemm", "cuda") == result("cuda", "NVIDIA H200")
    assert (tmp_path / "tests" / "h200-recorded" / "localhost.json").exists()


def test_of_a_try_on_a_cpu_no_figure_is_taken(tmp_path: Path) -> None:
    store.write(tmp_path, result("cpu", None, data={"flops": 1.0}))
    store.take(tmp_path, tmp_path / "here", tmp_path / "tests")
    kept = store.read(tmp_path / "here", "gemm", "cpu")
    assert kept and kept["parts"]["compute"] == {"state": MEASURED, "why": "", "met": None}


def test_gaps_stand_in_the_section() -> None:
    found = result("cuda", "NVIDIA H200", data=judged(788e12, 4.3e12))
    found["parts"]["other"] = {"state": "left out", "why": "not installed: deepspeed", "met": None}
    text = pages.section(found)
    assert "Not measured:" in text and "- other: left out. not installed: deepspeed" in text


def test_the_docs_name_the_stages_and_the_committed_results_are_in_the_page(root: Path) -> None:
    text = (root / "docs" / "gpu.md").read_text()
    for name in parts.stages():
        assert f"| {name} |" in text, name
    section = _page.sections((root / "docs" / "benchmarks.md").read_text())["gpu"]
    assert section == pages.overview(store.FOLDER)


# ---- compute ----


def judged(flops: float, rate: float, gpu: str | None = "NVIDIA H200", wrong: int = 0) -> dict[str, Any]:
    told = {
        "begun": {"dtype": "torch.bfloat16"},
        "multiplied": {"flops": flops, "error": 3e-3, "size": 8192, "seconds": [1.0, 1.1]},
        "copied": {"bytes_per_second": rate, "wrong": wrong, "bytes": 1 << 30, "seconds": [1.0]},
    }
    return stage_gemm.judged(told, gpu)


def test_compute_is_held_against_the_data_sheet() -> None:
    assert judged(788e12, 4.3e12)["met"] is True
    assert judged(400e12, 4.3e12)["met"] is False
    assert judged(788e12, 2.0e12)["met"] is False
    assert judged(788e12, 4.3e12, wrong=1)["met"] is False


def test_a_gpu_without_a_data_sheet_is_not_said_to_be_healthy() -> None:
    assert judged(788e12, 4.3e12, "Another GPU")["met"] is None
    assert judged(788e12, 4.3e12, None)["met"] is None
    assert judged(788e12, 4.3e12, None, wrong=1)["met"] is False


def test_bandwidths_are_those_of_known_gpus() -> None:
    for name in stage_gemm.BANDWIDTH:
        assert gpu_named(name) is not None
    assert stage_gemm.bandwidth_of("NVIDIA A100-SXM4-80GB") == 2.039e12
    assert stage_gemm.bandwidth_of("NVIDIA H100 80GB HBM3") == 3.35e12


# ---- memory ----


def test_the_six_configurations_cover_what_was_asked(cuda: Machine) -> None:
    made = stage_memory.CONFIGURATIONS
    assert len(made) == 6
    assert {one.method for one in made} == {"lora", "full"}
    assert {one.zero for one in made} == {0, 3} and {one.checkpointing for one in made} == {True, False}
    moe = [one for one in made if one.model["model_type"] == "qwen3_moe"]
    plans = [stage_memory.planned(one, cuda) for one in moe]
    assert [one.unfused for one in moe] == [False, True]
    assert [plan.model.fused_experts for plan in plans if plan.model] == [True, False]
    for one in made:
        memory = stage_memory.planned(one, cuda).memory
        assert memory and memory["verdict"] == "fits"


def test_a_plan_that_says_fits_of_what_does_not_is_a_false_one(cuda: Machine) -> None:
    plan = stage_memory.planned(stage_memory.CONFIGURATIONS[0], cuda)
    assert plan.memory is not None
    planned = plan.memory["gpu_allocated_bytes"]
    good = {"out_of_memory": False, "allocated": planned, "reserved": planned, "seconds": [1.0]}
    assert stage_memory.compared(plan, good, cuda)["met"] is True
    assert stage_memory.compared(plan, {**good, "reserved": 2 * planned}, cuda)["met"] is False
    assert stage_memory.compared(plan, {**good, "out_of_memory": True}, cuda)["met"] is False
    assert stage_memory.compared(plan, {**good, "allocated": 1.06 * planned}, cuda)["met"] is False
    text = stage_memory.table({"one": stage_memory.compared(plan, {**good, "allocated": 2 * planned}, cuda)})
    assert "| -50.0 % |" in text and "0 false `fits`" in text


def test_the_edge_is_between_two_batches(cuda: Machine) -> None:
    fitting, hopeless = stage_memory.largest(cuda, "fits"), stage_memory.largest(cuda, None) + 1
    assert 0 < fitting < hopeless < 4096

    def verdict(rows: int) -> str:
        one = stage_memory.dataclasses.replace(stage_memory.EDGE, rows=rows)
        return stage_memory.planned(one, cuda).memory["verdict"]  # type: ignore[index]

    assert (verdict(fitting), verdict(hopeless)) == ("fits", "does-not-fit")
    assert verdict(fitting + 1) != "fits" and verdict(hopeless - 1) != "does-not-fit"


# ---- NCCL, faults ----


def test_a_refusal_of_nccl_is_no_pass() -> None:
    said = {0: {"ended": {"code": 1, "tail": "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 100"}},
            1: {"ended": {"code": 1, "tail": ""}}}  # fmt: skip
    found = stage_nccl.told(said)
    assert (found["passed"], found["refused"]) == (False, True)
    assert "rank 0 and rank 1" in stage_nccl.line_with(found["tail"])


def test_a_wrong_sum_is_no_pass() -> None:
    one = {"ended": {"code": 0, "tail": ""}, "imported": {"nccl": "2.28.3"},
           "measured": {"seconds": 0.5, "bytes": 1000}, "summed": {"wrong": 1}}  # fmt: skip
    assert stage_nccl.told({0: one})["passed"] is False
    assert stage_nccl.told({0: {**one, "summed": {"wrong": 0}}})["bytes_per_second"] == 2000


def test_the_faults_are_known_to_the_judge_and_only_while_it_judges() -> None:
    before = dict(FAULTS)
    with stage_watch.known():
        assert {*stage_watch.ALONE, *stage_watch.OF_TWO} <= set(FAULTS)
        assert FAULTS["gpu-oom"] is stage_watch.OF_GPU["gpu-oom"]
    assert before == FAULTS


# ---- what names a machine ----

FACTS = {
    "node": "localhost",
    "values": {
        "system": {
            "hostname": "lab-7",
            "machine_id": "4c4c4544004b3510804ac7c04f595931",
            "boot_id": "0e6c2a3f-27b1-4d5e-9a60-0f5d1c2b3a4d",
            "kernel": "6.8.0-45-generic",
            "user": {"uid": 1001, "name": "mara", "groups": [1001]},
        },
        "gpus": {
            "list": [
                {
                    "serial": "1654123012345",
                    "uuid": "GPU-5d2b7a10-9c1e-4f6a-8b3d-7e9f0a1b2c3d",
                    "vbios": "96.00.A5.00.01",
                    "bus_id": "0000:07:00.0",
                }
            ],
            "driver": "580.159.03",
        },
        "network": {
            "interfaces": {"eth0": {"addresses": ["10.77.3.9/24", "fe80::1/64"], "mac": "52:54:00:ab:cd:ef"}},
            "resolved": {"lab-7": {"addresses": ["10.77.3.9"]}, "localhost": {"addresses": ["127.0.0.1"]}},
        },
        "driver": {"container_toolkit": "1.17.4", "xids": []},
        "software": {"python": {"executable": "/home/mara/venv/bin/python"}},
        "topology": {"of": "GPU-5d2b7a10-9c1e-4f6a-8b3d-7e9f0a1b2c3d"},
    },
    "unreadable": {"ssh.key": "Permission denied for mara@lab-7"},
}
SECRET = ("lab-7", "4c4c4544004b3510804ac7c04f595931", "0e6c2a3f", "1654123012345", "5d2b7a10", "10.77.3.9",
          "52:54:00:ab:cd:ef", "mara")  # fmt: skip


def test_nothing_that_names_the_machine_is_left_in_a_recording() -> None:
    text = json.dumps(scrubbed(FACTS, {"/home/mara": "/home/ubuntu"}))
    assert [word for word in SECRET if word in text] == []


def test_what_says_what_the_machine_is_stays() -> None:
    made = scrubbed(FACTS)
    values = made["values"]
    assert values["gpus"]["driver"] == "580.159.03" and values["gpus"]["list"][0]["vbios"] == "96.00.A5.00.01"
    assert values["gpus"]["list"][0]["bus_id"] == "0000:07:00.0"
    assert values["system"]["kernel"] == "6.8.0-45-generic"
    assert values["network"]["resolved"]["localhost"] == {"addresses": ["127.0.0.1"]}
    assert values["driver"] == {"container_toolkit": "1.17.4", "xids": []}
    assert made["node"] == "localhost"


def test_equal_stays_equal_and_different_stays_different() -> None:
    made = scrubbed(
        {**FACTS, "two": {"serial": "1654123099999", "uuid": "GPU-00112233-9c1e-4f6a-8b3d-7e9f0a1b2c3d"}}
    )
    one = made["values"]["gpus"]["list"][0]
    assert made["values"]["topology"]["of"] == one["uuid"] != made["two"]["uuid"]
    assert re.fullmatch(r"GPU-\d{8}-0000-4000-8000-0{12}", one["uuid"])
    assert one["serial"] != made["two"]["serial"] and one["serial"].isdigit()
    address = made["values"]["network"]["interfaces"]["eth0"]["addresses"][0]
    assert address.endswith("/24")
    assert made["values"]["network"]["resolved"]["gpu-machine"]["addresses"] == [address.removesuffix("/24")]
    assert scrubbed(FACTS) == scrubbed(FACTS)


# ---- wheels ----


def test_wheels_are_of_the_versions_that_are_tested(root: Path) -> None:
    tested = "\n".join(
        (root / "requirements" / f"{name}.txt").read_text() for name in ("train", "dev", "llamafactory")
    )
    versions = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", tested))
    versions = {name.lower().replace("_", "-"): version for name, version in versions.items()}
    for pin in wheels.pins():
        name, _, version = pin.partition("==")
        assert versions[name.lower().replace("_", "-")] == version, pin


@pytest.mark.lengthy
def test_an_environment_of_wheels_sees_them_and_the_machines_own(tmp_path: Path) -> None:
    wheel = tiny_wheel(tmp_path)
    python = wheels.made([wheel], tmp_path)
    code = "import carried_for_a_test, pytest; print(carried_for_a_test.VALUE)"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == "7", done.stderr
    assert wheels.made([wheel], tmp_path) == python  # made once


def test_an_empty_folder_of_wheels_is_said(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("GPU_WHEELS_ENTERED", raising=False)
    with pytest.raises(SystemExit, match="holds no wheel"):
        wheels.enter(str(tmp_path), [])


def tiny_wheel(folder: Path) -> Path:
    import zipfile

    path = folder / "carried_for_a_test-1.0-py3-none-any.whl"
    info = "carried_for_a_test-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("carried_for_a_test.py", "VALUE = 7\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: carried-for-a-test\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(
            f"{info}/RECORD", f"carried_for_a_test.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        )
    return path
