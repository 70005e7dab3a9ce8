"""What a script saves is its run's output, wherever it lies; `{output}` and `{resume}` are in its arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.desk import SCRIPTS, Desk

pytestmark = pytest.mark.lengthy
SAVER = SCRIPTS / "light_saver.py"


def test_a_scripts_saves_are_verified_gone_on_from_and_left_by_clean(runner: Desk, tmp_path: Path) -> None:
    """One pair of runs: the second goes on from what the first saved in a folder of the script's own."""
    mine = tmp_path / "mine"
    words = (mine, "--resume", "{resume}")
    file = runner.light(*words, script=SAVER, nodes="node-[0-1]", resume="auto")
    first = runner.run(file, code=0)
    assert [(Path(one["path"]).name, one["whole"], one["kind"]) for one in first["saves"]] == [
        ("step_2.pt", True, "torch-file"),
        ("step_1.pt", True, "torch-file"),
    ]
    second = runner.run(file, code=0)
    assert (second["step"], Path(second["saves"][0]["path"]).name) == (4, "step_4.pt")
    (resumed,) = (event["data"] for event in runner.events(second["id"], "resume"))
    assert resumed["from"] == str(mine / "step_2.pt")
    page = (runner.keeper(second["id"]) / "report.html").read_text()
    assert str(mine / "step_4.pt") in page and "as far as its files tell" in page
    said = runner.json("checkpoints", "verify", second["id"], code=0)
    assert (said["path"], said["whole"]) == (str(mine / "step_4.pt"), True)
    runner("clean", second["id"], "--files", "-y", code=0)
    assert sorted(path.name for path in mine.iterdir()) == [f"step_{n}.pt" for n in (1, 2, 3, 4)]


def test_a_save_that_the_script_renamed_is_found_under_its_new_name(runner: Desk, tmp_path: Path) -> None:
    """As timm does: each save goes to a temporary name first."""
    env = {"RENAMES": "1"}
    run = runner.run(runner.light(tmp_path / "mine", script=SAVER, nodes="node-0", env=env), code=0)
    (saved,) = run["saves"]
    assert (Path(saved["path"]).name, saved["whole"]) == ("last.pt", True)


def test_a_checkpoint_of_another_machine_is_brought_to_the_run(runner: Desk, tmp_path: Path) -> None:
    """127.0.0.2 is this machine under an address that no node of the run has."""
    mine = tmp_path / "mine"
    first = runner.run(runner.light(mine, script=SAVER, nodes="node-[0-1]"), code=0)
    there = f"127.0.0.2:{mine / 'step_2.pt'}"
    file = runner.light(tmp_path / "more", "--resume", "{resume}", script=SAVER, nodes="node-[0-1]")
    second = runner.run(file, "--resume", there, code=0)
    copy = runner.keeper(second["id"]).parent / "resume-copy" / "step_2.pt"
    (resumed,) = (event["data"] for event in runner.events(second["id"], "resume"))
    assert (first["step"], second["step"], resumed["from"]) == (2, 4, str(copy))
    assert copy.read_bytes() == (mine / "step_2.pt").read_bytes()
    runner("clean", second["id"], "--files", "-y", code=0)
    assert not copy.exists() and (mine / "step_2.pt").exists()


def test_a_restart_goes_on_from_the_scripts_own_save_in_the_runs_output(runner: Desk) -> None:
    words = ("{output}", "--resume", "{resume}")
    keys = {"launch": {"with": "local", "restarts": 1}, "env": {"FAIL_AT": "2"}}
    run = runner.run(runner.light(*words, script=SAVER, nodes="node-[0-1]", **keys), code=0)
    output = Path(run["output_dir"])
    assert sorted(path.name for path in output.glob("*.pt")) == [f"step_{n}.pt" for n in (1, 2, 3, 4)]
    (restarted,) = (one for one in run["findings"] if one["id"] == "restarted")
    assert f"from {output / 'step_2.pt'} (step 2)" in restarted["saw"]
    assert json.dumps(run["saves"][0]["path"]) == json.dumps(str(output / "step_4.pt"))
