"""The table of runs, and the README's picture."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree

from allranks.output.console import Out
from allranks.output.picture import main, write_svg
from allranks.output.table import print_runs

NOW = 1795215600.0
RUNS = [
    {
        "id": "lora-1120-a1",
        "name": "lora",
        "state": "running",
        "step": 120,
        "total_steps": 2000,
        "nodes": ["node-0", "node-1", "node-2"],
        "started_at": NOW - 4000,
        "adapter": None,
    },
    {
        "id": "sft-1119-b2",
        "name": "sft",
        "state": "succeeded",
        "step": 36,
        "total_steps": 36,
        "nodes": ["node-0"],
        "started_at": NOW - 90_000,
        "adapter": {"path": "/home/ubuntu/runs/sft-1119-b2", "whole": True},
    },
    {"id": "x\x1b[2J", "state": None},
]


def runs(width: int, live: bool = False, some=RUNS) -> list[str]:
    file = io.StringIO()
    out = Out(file=file, width=width, live=live)
    out.console.no_color = True
    print_runs(some, out=out, now=NOW)
    return file.getvalue().splitlines()


def test_a_line_a_run():
    lines = runs(40)
    assert lines[0].split() == ["id", "name", "state", "step", "nodes", "age", "adapter"]
    assert re.fullmatch(r"lora-1120-a1  lora  running    120/2,000  3      1 h 06 min  —", lines[1])
    assert lines[2].endswith("36/36      1      25 h        /home/ubuntu/runs/sft-1119-b2")
    assert lines[3].startswith("x\\x1b[2J      —     unknown")
    assert all(line == line.rstrip() for line in lines)


def test_a_run_that_failed_has_its_cause():
    where = {"node": "node-1", "rank": 3}
    failed = {"id": "a", "state": "failed", "diagnosis": {"cause": "cuda-oom", "where": where}}
    lost = {"id": "b", "state": "lost", "why": "the head does not answer"}
    lines = runs(120, some=[failed, lost, {**failed, "id": "c", "state": "running"}])
    assert lines[0].split() == ["id", "name", "state", "step", "nodes", "age", "cause", "adapter"]
    assert "  cuda-oom, node-1 rank 3  " in lines[1] and "  the head does not answer  " in lines[2]
    assert "cuda-oom" not in lines[3]


def test_a_narrow_terminal_keeps_what_matters():
    lines = runs(55, live=True)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert all(len(line) <= 55 for line in lines)
    assert lines[0].split() == ["id", "state", "step", "nodes", "age"]


def test_no_runs():
    assert runs(80, some=[]) == ["No runs are known here."]


def test_the_picture_needs_no_network(events, tmp_path):
    target = tmp_path / "picture.svg"
    write_svg(events("healthy"), str(target))
    svg = target.read_text()
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    text = "".join(root.itertext()).replace("\u00a0", " ")
    assert "allranks run examples/tiny-deepseek-v3.yaml" in text
    assert "step 36 of 36" in text
    assert "The adapter is whole and changes" in text
    assert "url(http" not in svg and "@font-face" not in svg and "<image" not in svg
    assert svg.count("http") == 1, "the namespace alone"


def test_the_picture_from_a_run_directory_is_the_same_each_time(run_directory, tmp_path):
    directory = run_directory("healthy")
    for name in ("a.svg", "b.svg"):
        assert main([str(directory), str(tmp_path / name)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
