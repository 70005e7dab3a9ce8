"""The verb `logs`: whole lines with their node and rank, whatever the pieces were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks import cli
from allranks.cli.showing_logs import Lines
from allranks.node.paths import RunDirectory

RUN = "a-run-1121-abcd"


@pytest.fixture
def a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    root = Path(RunDirectory(RUN).root)
    (root / "nodes/node-0/logs").mkdir(parents=True)
    (root / "keeper").mkdir()
    (root / ".allranks-run").write_text(RUN)
    (root / "keeper/state.json").write_text(json.dumps({"id": RUN, "name": "a-run", "state": "failed"}))
    (root / "nodes/node-0/logs/rank-0.log").write_text("one\n  5%\r100%\nlast")
    (root / "nodes/node-0/logs/torchrun.log").write_text("agent\n")
    return RUN


def test_pieces_become_whole_lines() -> None:
    said: list[tuple[str, int | None, str]] = []
    lines = Lines(lambda node, rank, text: said.append((node, rank, text)))
    lines.add("nodes/a/logs/rank-1.log", "on")
    lines.add("nodes/b/logs/torchrun.log", "\x1b[31mred\n")
    lines.add("nodes/a/logs/rank-1.log", "e\ntw")
    lines.end()
    assert said == [("b", None, "\\x1b[31mred"), ("a", 1, "one"), ("a", 1, "tw")]


def test_json_is_one_document_with_every_line(a_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["logs", a_run, "--rank", "0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["id"] == a_run
    assert [line["text"] for line in answer["lines"]] == ["one", "100%", "last"]
    assert {(line["node"], line["rank"]) for line in answer["lines"]} <= {("node-0", 0)}


def test_following_ends_with_the_run(a_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["logs", a_run, "-f", "--rank", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("last")


@pytest.mark.parametrize("words", [["--rank", "9"], ["--node", "nobody"], ["-f", "--json"]])
def test_what_is_not_there_is_bad_input(a_run: str, words: list[str]) -> None:
    assert cli.main(["logs", a_run, *words]) == 2
