"""`runs compare`: what differs between two runs, and what is said of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from allranks.cli import main
from allranks.output import report
from allranks.output.run_comparison import compared, written
from allranks.runs import index
from tests.output import journals

IDS = ("first-1122-aaaa", "second-1122-bbbb")


def point(first: int, mean: float, last: int | None = None) -> list[float]:
    return [first, first if last is None else last, mean, mean, mean]


def data(
    loss: list[float], seconds: list[float], settings: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """What a report collects of one rank, as far as it is compared."""
    return {
        "state": {"state": "succeeded"},
        "run_file": {"text": "gpus: 8\n"},
        "settings": settings or {},
        "summary": {"step_seconds": sorted(seconds)[len(seconds) // 2] if seconds else None},
        "charts": {
            "loss": {"points": [point(n + 1, value) for n, value in enumerate(loss)]},
            "step": {"lines": {"0": [point(n + 1, value) for n, value in enumerate(seconds)]}},
        },
        **more,
    }


SMOOTH = [2.0, 1.5, 1.2, 1.0, 0.95, 0.92, 0.91, 0.905]
EVEN = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]


def verdict(a: dict[str, Any], b: dict[str, Any]) -> str:
    return " ".join(compared(a, b, ("A", "B")).verdict)


def test_a_faster_and_better_run_is_named_with_figures() -> None:
    said = verdict(data(SMOOTH, EVEN), data([x - 0.3 for x in SMOOTH], [x / 2 for x in EVEN]))
    assert "a step of B is 2.00 times as fast" in said
    assert "B is lower by 0.3 at step 8" in said


def test_a_difference_within_the_runs_own_variation_is_none() -> None:
    said = verdict(data(SMOOTH, EVEN), data([x + 0.001 for x in SMOOTH], [x * 1.005 for x in EVEN]))
    assert "Speed: no difference beyond" in said and "Loss: no difference at step 8" in said


def test_thin_evidence_is_said() -> None:
    said = verdict(data([1.0], [1.0]), data([2.0], [2.0]))
    assert "too few steps to distinguish" in said and "too few steps to compare" in said
    assert "Speed: unknown" in verdict(data([], []), data(SMOOTH, EVEN))
    assert "no step in common" in verdict(data([], []), data(SMOOTH, EVEN))
    assert not compared(data([], []), data(SMOOTH, EVEN), ("A", "B")).is_known
    assert compared(data([], EVEN), data(SMOOTH, EVEN), ("A", "B")).is_known
    assert compared(data(SMOOTH, []), data(SMOOTH, EVEN), ("A", "B")).is_known


def test_losses_are_compared_at_a_step_that_both_have() -> None:
    found = compared(data(SMOOTH[:4], EVEN), data([x - 0.5 for x in SMOOTH], EVEN), ("A", "B"))
    assert found.common_step == 4
    row = next(row for row in found.loss if row.name == "loss at step 4")
    assert (row.a, row.b) == (1.0, 0.5)


def test_another_batch_makes_equal_steps_unequal_data() -> None:
    one = {"micro_batch": 1, "accumulation": 8, "world_size": 8}
    same, other = {**one, "accumulation": 4, "world_size": 16}, {**one, "world_size": 16}
    assert "The batch differs, 64 samples per step against 128" in verdict(
        data(SMOOTH, EVEN, one), data(SMOOTH, EVEN, other)
    )
    assert "The batch differs" not in verdict(data(SMOOTH, EVEN, one), data(SMOOTH, EVEN, same))


def test_a_run_that_did_not_succeed_is_said_to_be_so() -> None:
    assert "B failed" in verdict(data(SMOOTH, EVEN), data(SMOOTH, EVEN, state={"state": "failed"}))


def test_only_what_differs_is_a_setting_that_differs() -> None:
    a = data(SMOOTH, EVEN, {"precision": "bf16", "torch": "2.13"}, ranks=[{"rank": 0, "torch": "2.13"}])
    b = data(SMOOTH, EVEN, {"precision": "fp16", "torch": "2.13"}, ranks=[{"rank": 0, "torch": "2.9"}])
    b["run_file"] = {"text": "gpus: 4\nnetwork: {port: 1}\n"}
    rows = {row.name: (row.a, row.b) for row in compared(a, b, ("A", "B")).settings}
    assert rows == {
        "gpus": (8, 4),
        "network.port": (None, 1),
        "reported: precision": ("bf16", "fp16"),
        "version: torch": ("2.13", "2.9"),
    }


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("train: {command: [a.py, --x, '1']}", {"train.command": ["a.py", "--x", "1"]}),
        ("nodes:\n- {name: a}\n- {name: b}", {"nodes.0.name": "a", "nodes.1.name": "b"}),
        ("[1, 2]", {}),
        ("a: [", {}),
        ("", {}),
    ],
)
def test_what_is_written_is_read_as_dotted_keys(text: str, keys: dict[str, Any]) -> None:
    assert written(text) == keys


# ---- the verb ----


@pytest.fixture
def runs(home: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of this machine; the second has another learning rate."""
    found = []
    for run_id, rate in zip(IDS, ("5e-3", "1e-3"), strict=True):
        run = journals.healthy()
        run.id = run.state["id"] = run_id
        folder = Path(run.write(tmp_path / run_id))
        there = home / "runs" / run_id
        there.parent.mkdir(exist_ok=True, mode=0o700)
        shutil.move(folder, there)
        file = json.loads((there / "run.json").read_text())
        (there / "run.json").write_text(json.dumps({**file, "text": file["text"].replace("5e-3", rate)}))
        (there / ".allranks-run").write_text(run_id)
        found.append(there)
    return found[0], found[1]


def test_two_runs_are_compared_by_their_records(runs, capsys) -> None:
    assert main(["runs", "compare", *IDS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["a"], one["b"]) for one in told["settings"]] == [
        ("train.llamafactory.learning_rate", 5e-3, 1e-3)
    ]
    assert told["common_step"] == 36 and told["speed"][0]["a"] == told["speed"][0]["b"] is not None
    assert main(["runs", "compare", "first", "second"]) == 0
    said = capsys.readouterr().out
    assert "settings that differ" in said and "0.001" in said and "Loss: no difference" in said


def test_a_run_is_not_compared_with_itself(runs, capsys) -> None:
    assert main(["runs", "compare", "first", IDS[0]]) == 2
    assert "are one run" in capsys.readouterr().err


@pytest.mark.lengthy
def test_a_run_of_another_head_is_read_from_there(runs, home: Path, monkeypatch, capsys) -> None:
    """The head is this machine, and its node program is asked as another's would be."""
    from allranks.core import Node
    from allranks.transport import reached

    real = report.collect(str(runs[1]))["summary"]
    elsewhere = home.parent / "elsewhere"
    (elsewhere / "runs").mkdir(parents=True, mode=0o700)
    elsewhere.chmod(0o700)
    shutil.move(runs[1], elsewhere / "runs")
    nodes = reached([Node("far", "127.0.0.1", 0)], "local")
    (program,) = nodes.programs.values()
    argv = program.argv
    program.argv = lambda *words: ["env", f"ALLRANKS_HOME={elsewhere}", *argv(*words)]  # type: ignore[method-assign]
    send = program._send

    async def sent() -> None:
        with monkeypatch.context() as patch:
            patch.setenv("ALLRANKS_HOME", str(elsewhere))
            await send()

    program._send = sent  # type: ignore[method-assign]
    (home / "index").mkdir(mode=0o700)
    entry = {"id": IDS[1], "launch": "ssh", "created_at": 1.0, "nodes": [Node("far", "far", 0).as_json()]}
    (home / "index" / f"{IDS[1]}.json").write_text(json.dumps(entry))
    monkeypatch.setattr(index, "nodes_of", lambda run_id: nodes)
    assert main(["runs", "compare", *IDS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["speed"][0]["b"] == real["step_seconds"] and len(told["settings"]) == 1
