"""The demo itself, once: what `make demo` runs, ends with and says."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import free_port, until
from tests.harness.desk import Desk

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def demo(root: Path, tmp_path_factory: pytest.TempPathFactory):
    """(runner, the run as `--json` tells it): three nodes, one rank each, ZeRO-3, LoRA."""
    tiny = root / ".cache" / "tiny-deepseek-v3"
    subprocess.run([sys.executable, str(root / "examples" / "make_tiny.py"), str(tiny)], check=True)
    with Desk(tmp_path_factory.mktemp("demo")) as runner:
        file = root / "examples" / "tiny-deepseek-v3.yaml"
        yield runner, runner.run(file, "--set", f"network.port={free_port()}", code=0)


def tensors(path: Path) -> dict[str, bytes]:
    """Name → bytes of each tensor of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    return {n: body[slice(*t["data_offsets"])] for n, t in header.items() if n != "__metadata__"}


def test_it_ends_with_a_whole_adapter_that_changes_the_model(demo) -> None:
    _, run = demo
    assert (run["state"], run["step"]) == ("succeeded", 36)
    adapter = run["adapter"]
    assert (adapter["tensors"], adapter["parameters"], adapter["whole"]) == (30, 28_032, True)
    assert adapter["changed"] is True and adapter["max_difference"] > 0
    found = tensors(Path(adapter["path"]) / "adapter_model.safetensors")
    assert len(found) == 30
    assert all(any(found[name]) for name in found if "lora_B" in name)


def test_the_loss_falls(demo) -> None:
    runner, run = demo
    losses = {}
    for event in runner.events(run["id"]):
        if event["kind"] == "beat":
            losses.update({step[0]: step[1] for step in event["data"]["steps"] if step[1] is not None})
    assert len(losses) >= 30
    ordered = [losses[step] for step in sorted(losses)]
    assert sum(ordered[-5:]) / 5 < sum(ordered[:5]) / 5 - 0.5


def test_three_torchruns_with_their_own_node_rank_and_folder(demo) -> None:
    runner, run = demo
    jobs = [json.loads(p.read_text()) for p in Path(run["directory"]).glob("nodes/*/job.json")]
    assert {j["node_rank"] for j in jobs} == {0, 1, 2}
    assert len({j["cwd"] for j in jobs}) == 3
    starts = [e["data"] for e in runner.events(run["id"]) if e["kind"] == "torchrun"]
    assert len({s["process"]["pid"] for s in starts}) == 3


def test_what_took_effect_is_held_against_the_plan(demo) -> None:
    runner, run = demo
    settings = [e["data"] for e in runner.events(run["id"]) if e["kind"] == "settings"]
    assert settings
    merged = {k: v for one in settings for k, v in one.items() if v is not None}
    assert merged["trainable_parameters"] == 28_032
    assert (merged["zero_stage"], merged["world_size"], merged["total_steps"]) == (3, 3, 36)


def test_old_checkpoints_are_pruned(demo) -> None:
    _, run = demo
    left = sorted(p.name for p in Path(run["adapter"]["path"]).glob("checkpoint-*"))
    assert left == ["checkpoint-30", "checkpoint-36"]


def test_the_report_stands_and_needs_no_network(demo) -> None:
    _, run = demo
    text = Path(run["directory"], "keeper", "report.html").read_text()
    assert "28,032" in text and "node-2" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", text)


def test_nothing_is_left_running(demo) -> None:
    runner, _ = demo
    assert runner.left() == []


def test_verify_and_logs_of_the_run(demo) -> None:
    runner, run = demo
    assert runner.json("checkpoints", "verify", run["id"], code=0)["tensors"] == 30
    assert "(node-1, 1)" in runner("logs", run["id"], "--rank", 1, code=0).stdout


def test_a_missing_dataset_is_said_before_the_launch(demo, root: Path) -> None:
    runner, _ = demo
    file = root / "examples" / "tiny-deepseek-v3.yaml"
    answer = runner.json("run", file, "--set", "train.llamafactory.dataset=nobody_has_this", code=1)
    assert any(f["id"] == "dataset-missing" for f in answer["findings"] if f["verdict"] == "block")


def test_wrong_lora_targets_are_said_before_the_launch(demo, root: Path) -> None:
    runner, _ = demo
    file = root / "examples" / "tiny-deepseek-v3.yaml"
    answer = runner.json(
        "plan", file, "--set", "train.llamafactory.lora_target=q_proj,v_proj,k_proj,o_proj", code=1
    )
    finding = next(f for f in answer["findings"] if f["id"] == "lora-targets-missing")
    assert "q_proj" in finding["saw"]


def test_the_terminals_last_words_name_the_adapter_and_the_next_commands(demo) -> None:
    runner, run = demo
    done = runner("watch", run["id"], code=0)
    for word in (run["adapter"]["path"], "30 tensors", f"allranks logs {run['id']}", "report.html"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout


STEPS = 6
"""Of the demo's 36, on two of its three nodes: enough for an adapter to look at."""


def test_the_controller_dies_and_the_run_is_verified_and_reported_without_it(
    runner: Desk, root: Path
) -> None:
    """While the adapter is looked at. An earlier death needs no model: test_faults.py."""
    file = root / "examples" / "tiny-deepseek-v3.yaml"
    settings = (f"network.port={free_port()}", f"train.llamafactory.max_steps={STEPS}", "nodes=node-[0-1]")
    controller = runner.start("run", file, *(word for one in settings for word in ("--set", one)))
    (state,) = until(lambda: list(runner.home.glob("runs/*/keeper/state.json")))

    def verifies() -> bool:
        """Or has done so: on a busy machine nobody may look in the few seconds that it takes."""
        run = json.loads(state.read_text())
        return run["phase"] in ("verify", "prove") or run["state"] == "succeeded"

    until(verifies)
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    run = runner.json("watch", code=0)["runs"][0]
    assert (run["state"], run["step"]) == ("succeeded", STEPS)
    assert run["adapter"]["whole"] is True and run["adapter"]["changed"] is True
    assert Path(run["directory"], "keeper", "report.html").exists()
    assert runner.left() == []
