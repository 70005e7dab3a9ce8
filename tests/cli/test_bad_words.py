"""Words that mean nothing, or more than was meant: nothing is done, and the exit code says so."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks import cli
from allranks.cli import common
from allranks.cli.verbs import report
from allranks.core import BadInput
from allranks.runs import index


@pytest.mark.parametrize(
    "words",
    [
        ["stop", "", "-y"],
        ["logs", ""],
        ["report", ""],
        ["checkpoints", "verify", ""],
        ["checkpoints", "prune", "", "-y"],
        ["diagnose", ""],
    ],
)
def test_an_unset_variable_means_no_run_and_no_folder(home: Path, capsys, words: list[str]) -> None:
    assert cli.main(words) == 2
    assert "an empty name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["probe", "run.yaml", "--limit", "nan"],
        ["probe", "run.yaml", "--limit", "0"],
        ["probe", "run.yaml", "--seconds", "inf"],
        ["probe", "run.yaml", "--seconds=-1"],
        ["checkpoints", "prune", ".", "--keep", "0"],
        ["checkpoints", "prune", ".", "--keep=-3"],
    ],
)
def test_a_number_that_is_none_is_bad_input(home: Path, capsys, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert " is not a " in capsys.readouterr().err


def test_a_file_is_no_folder_of_checkpoints(home: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "adapter.bin").write_text("x")
    assert cli.main(["checkpoints", "prune", str(tmp_path / "adapter.bin"), "-y"]) == 2
    assert "is a file" in capsys.readouterr().err


def test_a_folder_in_which_nothing_is_whole_is_said(home: Path, tmp_path: Path, capsys) -> None:
    broken = tmp_path / "checkpoint-10"
    broken.mkdir()
    (broken / "adapter_config.json").write_text("{}")
    (broken / "adapter_model.safetensors").write_bytes(b"cut")
    assert cli.main(["checkpoints", "prune", str(tmp_path), "-y"]) == 1
    assert "none whole" in capsys.readouterr().out
    assert cli.main(["checkpoints", "prune", str(tmp_path), "-y", "--json"]) == 1
    assert [f["id"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["prune-nothing-verified"]
    assert broken.is_dir()


@pytest.mark.parametrize(("typed", "answer"), [("", False), ("y\n", True), ("Yes\n", True), ("n\n", False)])
def test_the_question_stands_on_stderr_and_its_end_is_a_no(
    monkeypatch, capsys, typed: str, answer: bool
) -> None:
    typing = io.StringIO(typed)
    monkeypatch.setattr(typing, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(common.sys, "stdin", typing)
    assert common.agreed("remove them?", yes=False) is answer
    said = capsys.readouterr()
    assert said.out == "" and "remove them? [y/N]" in said.err


def entry(run_id: str) -> None:
    node = {"name": "node7", "address": "10.0.0.7", "rank": 0}
    index.folder().mkdir(parents=True, exist_ok=True)
    (index.folder() / f"{run_id}.json").write_text(
        json.dumps({"id": run_id, "name": "x", "launch": "ssh", "nodes": [node], "created_at": 1.0})
    )


def test_a_run_that_is_named_whole_is_found_without_asking_anybody(home: Path, monkeypatch) -> None:
    def nobody(*_: object) -> None:
        raise AssertionError("a node was asked")

    entry("x-0101-aaaa")
    monkeypatch.setattr(index, "all_runs", nobody)
    assert asyncio.run(index.find("x-0101-aaaa")) == "x-0101-aaaa"


@pytest.mark.parametrize("words", [["diagnose"]])
def test_a_run_of_another_head_is_told_where_it_lies(home: Path, capsys, words: list[str]) -> None:
    entry("x-0101-aaaa")
    assert cli.main([*words, "x-0101-aaaa"]) == 2
    assert "x-0101-aaaa is on node7, not on this machine" in capsys.readouterr().err


class Head:
    """A head that holds one page and gives it in pieces."""

    PAGE = "<p>" + "a page " * 20 + "</p>"

    async def call(self, *words: str) -> dict:
        assert words[:4] == ("read", "chunk", "x-0101-aaaa", "keeper/report.html")
        offset = int(words[4])
        text = self.PAGE[offset : offset + 50]
        return {"text": text, "next_offset": offset + len(text)}


def test_the_report_of_another_head_is_brought(home: Path, tmp_path: Path, monkeypatch) -> None:
    async def close() -> None:
        return None

    entry("x-0101-aaaa")
    nodes = SimpleNamespace(programs={"node7": Head()}, close=close)
    monkeypatch.setattr(index, "nodes_of", lambda _run_id: nodes)
    assert asyncio.run(report.of_head("x-0101-aaaa")) == Head.PAGE
    assert cli.main(["report", "x-0101-aaaa", "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text() == Head.PAGE


def test_no_run_lies_where_its_mark_does_not(home: Path) -> None:
    with pytest.raises(BadInput, match="is on another machine"):
        index.directory_here("x-0101-bbbb")


@pytest.mark.parametrize("run_id", ["../../x", "/etc/y", ".hidden", "", "a/b"])
def test_an_id_that_a_node_told_is_no_path(home: Path, run_id: str) -> None:
    with pytest.raises(BadInput, match="is not a valid name for a run"):
        index.write(run_id, {"id": run_id})
    with pytest.raises(BadInput, match="is not a valid name for a run"):
        index.forget(run_id)


def test_a_head_does_not_choose_which_run_is_meant(home: Path, monkeypatch) -> None:
    class Liar:
        async def call(self, *_words: str) -> dict:
            return {"id": "another-0101-cccc", "state": "failed"}

    async def close() -> None:
        return None

    nodes = SimpleNamespace(programs={"node7": Liar()}, close=close)
    monkeypatch.setattr(index, "nodes_of", lambda _run_id: nodes)
    told = asyncio.run(index.told_by_head({"id": "x-0101-aaaa", "launch": "ssh"}))
    assert (told["id"], told["state"]) == ("x-0101-aaaa", "failed")


def test_a_closed_output_is_no_failure() -> None:
    """As some service managers start programs: the verb has done its work."""
    words = [sys.executable, "-c", "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"]
    done = subprocess.run(
        [*words, sys.executable, "-m", "allranks.cli", "explain"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_words_that_no_option_takes_show_the_verbs_own_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["exec", "localhost", "echo", "hi"])
    said = capsys.readouterr().err
    assert (
        ended.value.code == 2 and "usage: allranks exec" in said and "unrecognized arguments: echo hi" in said
    )
