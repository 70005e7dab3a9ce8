"""What could not be told is said in the same way by every verb: exit code 3, and no launch unless it is accepted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from allranks.checks import ids
from allranks.cli import main, run_verbs
from allranks.cli.run_verbs import say_stopped
from allranks.core import VERDICTS, CouldNotTell, Finding, finding_from_json
from allranks.runs.controller import StoppedBefore
from allranks.runs.inspection import Inspection, judge, verdict_code
from allranks.transport import ProgramFailed
from tests.probe.case import Simulated

RECORDED = Path(__file__).resolve().parents[1] / "recorded" / "cpu"


@pytest.fixture
def of_the_hub(tmp_path: Path) -> tuple[str, str]:
    """A run whose model no node has as a folder, and the facts of nodes that are otherwise fine."""
    for path in RECORDED.glob("*.json"):
        facts = json.loads(path.read_text())
        facts["values"]["storage"]["model"] = {"path": "Qwen/Qwen3-8B", "exists": False}
        (tmp_path / path.name).write_text(json.dumps(facts))
    text = (RECORDED / "run.yaml").read_text()
    folder = next(line.split(": ", 1)[1] for line in text.splitlines() if "model_name_or_path" in line)
    (tmp_path / "run.yaml").write_text(text.replace(folder, "Qwen/Qwen3-8B"))
    return str(tmp_path / "run.yaml"), str(tmp_path)


ACCEPT = ["--accept", "model-config-unreadable"]


def test_plan_exits_with_3_where_the_model_is_not_known(of_the_hub, capsys, home) -> None:
    file, _ = of_the_hub
    assert main(["plan", file, "--json"]) == 3
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["id"], finding["verdict"], finding["blocks"]) == (
        "model-config-unreadable",
        "unknown",
        True,
    )
    assert main(["plan", file, *ACCEPT]) == 0


def test_a_plan_that_is_not_known_whole_is_still_written(of_the_hub, tmp_path, capsys, home) -> None:
    assert main(["plan", of_the_hub[0], "--render", "torchrun", "-o", str(tmp_path / "out")]) == 3
    assert (tmp_path / "out" / "README.md").is_file() and "Wrote" in capsys.readouterr().out


def test_check_says_that_the_run_is_not_ready(of_the_hub, capsys, home) -> None:
    file, folder = of_the_hub
    assert main(["check", file, "--facts", folder]) == 3
    assert "All nodes are ready; the run is not." in capsys.readouterr().out
    assert main(["check", file, "--facts", folder, *ACCEPT]) == 0
    assert "All nodes are ready." in capsys.readouterr().out


def test_run_is_stopped_by_what_is_unknown_and_goes_on_where_it_is_accepted(of_the_hub, capsys, home) -> None:
    from dataclasses import replace

    from allranks import spec
    from allranks.cli.verbs.check import recorded

    file, folder = of_the_hub
    run = spec.load(file)
    inspection = judge(run, recorded(run, folder))
    against = inspection.stopping()
    assert [f.id for f in against] == ["model-config-unreadable"]
    assert say_stopped(StoppedBefore(inspection, against), as_json=False) == 3
    assert "--accept model-config-unreadable" in capsys.readouterr().err
    accepted: Inspection = replace(inspection, run=replace(run, accept=("model-config-unreadable",)))
    assert accepted.stopping() == []


def test_what_stopped_a_run_is_never_exit_code_0(capsys) -> None:
    inspection = judge(Simulated(1).run, [])
    note = Finding(id="spare-kept", verdict="note")
    assert say_stopped(StoppedBefore(inspection, [note]), as_json=False) == 3


@pytest.mark.parametrize("verdict", VERDICTS)
def test_blocks_means_that_a_finding_stops_a_launch(verdict: str) -> None:
    finding = Finding(id=ids()[0], verdict=verdict)
    assert finding.as_json()["blocks"] is (verdict in ("block", "unknown")) is finding.stops_launch
    assert finding_from_json(finding.as_json()) == finding
    assert verdict_code([finding]) == {"block": 1, "unknown": 3}.get(verdict, 0)
    assert verdict_code([finding], accept=[finding.id]) == 0


def test_what_blocks_counts_more_than_what_is_unknown() -> None:
    found = [Finding(id="a", verdict="unknown"), Finding(id="b", verdict="block")]
    assert verdict_code(found) == 1 and verdict_code(found, accept=("b",)) == 3


# ---- explain ----


def test_explain_takes_several_ids(capsys) -> None:
    assert main(["explain", "gpu-ecc", "adapter-empty", "gpu-ecc"]) == 0
    text = capsys.readouterr().out
    assert text.count("gpu-ecc\n") == 1 and text.index("gpu-ecc\n") < text.index("adapter-empty\n")
    assert main(["explain", "gpu-ecc", "adapter-empty", "--json"]) == 0
    pages = json.loads(capsys.readouterr().out)["pages"]
    assert [page["id"] for page in pages] == ["gpu-ecc", "adapter-empty"]


def test_explain_names_every_unknown_id_with_the_nearest_at_once(capsys) -> None:
    assert main(["explain", "gpu-ec", "gpu-ecc", "port-hold"]) == 2
    said = capsys.readouterr()
    assert "gpu-ec is not the id" in said.err and "gpu-ecc" in said.err
    assert "port-hold is not the id" in said.err and "port-held" in said.err
    assert said.out == "", "nothing is printed of what was right"


@pytest.mark.parametrize(
    ("word", "found"),
    [("GPU_ECC", "gpu-ecc"), ("oom", "cpu-oom-killed, cuda-oom"), ("xid 79", "xid-gpu-fault")],
)
def test_a_word_is_looked_for_in_ids_titles_and_texts(word: str, found: str, capsys) -> None:
    assert main(["explain", word]) == 2
    assert found in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["watch", "logs"])
def test_where_there_are_no_runs_yet_none_is_named(verb: str, capsys, home) -> None:
    assert main([verb]) == 2
    said = capsys.readouterr().err
    assert "there are no runs here yet" in said and "allranks run FILE" in said


def test_the_end_of_a_run_whose_folder_was_removed_is_not_known():
    class Head:
        async def call(self, *_words):
            raise ProgramFailed("node1", "read", "there is no run r1 here.")

    with pytest.raises(CouldNotTell, match="how it ended is not known: node1: read: there is no run r1 here"):
        asyncio.run(run_verbs.last_state(Head(), "r1"))  # type: ignore[arg-type]  # a stand-in
