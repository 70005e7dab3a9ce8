"""One real run that goes on while much is wrong with it: what the keeper says of the training itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness.desk import Desk

pytestmark = pytest.mark.training


def test_the_keeper_says_what_is_wrong_with_a_training_that_goes_on(runner: Desk, tmp_path: Path) -> None:
    """All ranks read the same batches and begin from models of their own, rank 1 computes for 0.2 s more before it
    meets the others; and when all that has been said the loss becomes NaN, which ends the run."""
    words = ("--fault", "slow", "--rank", 1, "--at", 0, "--seconds", 0.04, "--steps", 100000)
    controller = runner.start("run", runner.file(*words, "--also", "data,seeds", "--started", tmp_path))
    run = runner.at_step(1)

    def findings() -> list[dict[str, Any]]:
        return [e["data"] for e in runner.events(run["id"]) if e["kind"] == "finding"]

    def said() -> dict[str, Any]:
        return {found["id"]: found for found in findings()}

    try:
        runner.until(lambda: {"same-data", "replicas-differ", "straggler"} <= said().keys())
    finally:
        (tmp_path / "nan").touch()
        controller.communicate(timeout=240)
    found = said()
    assert "all 3 ranks" in found["same-data"]["saw"]
    assert (found["straggler"]["where"]["node"], found["straggler"]["where"]["rank"]) == ("node-1", 1)
    assert "before it meets the others" in found["straggler"]["saw"]
    # Whose beat comes first is told first: the others may still be at a warning then.
    assert "block" in [one["verdict"] for one in findings() if one["id"] == "loss-nan"]
    ended = runner.runs()[0]
    assert (ended["state"], ended["diagnosis"]["cause"]) == ("failed", "loss-nan")
    assert runner.left() == []
