"""`exec`: one command on many nodes, what it prints folded, and the exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from allranks import cli
from allranks.core import BadInput
from allranks.output.command_output import print_results, summary
from allranks.output.console import Out
from allranks.runs import index
from allranks.runs.node_targets import Access, open_targets
from allranks.transport.commands import CommandResult, exit_code
from allranks.transport.local import LocalTransport

HERE = "nodes: node-[0-2]\nsame_host: true\ngpus: {count: 1, model: cpu}\ntrain: {command: [train.py]}\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "run.yaml").write_text(HERE)
    return str(tmp_path / "run.yaml")


def test_equal_answers_are_one_and_control_bytes_do_no_harm(home: Path, file: str, capsys) -> None:
    code = cli.main(["exec", file, "--", "printf", "a\\n\\033[31mb\\n"])
    assert (code, capsys.readouterr().out) == (0, "node-[0-2] (3 nodes)\n  a\n  \\x1b[31mb\n")


def test_the_options_of_the_command_are_its_own(home: Path, file: str, capsys) -> None:
    assert (
        cli.main(["exec", "--json", file, "--", "sh", "-c", "echo $# $2; exit 4", "x", "--json", "--help"])
        == 1
    )
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 1 and told["command"][-1] == "--help"
    assert [(node["node"], node["code"], node["output"]) for node in told["nodes"]] == [
        (f"node-{n}", 4, "2 --help\n") for n in range(3)
    ]


def test_a_failure_is_named_with_its_nodes(home: Path, file: str, capsys) -> None:
    assert cli.main(["exec", file, "--", "no-such-program"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("node-[0-2] (3 nodes)  exit code 127\n  cannot start no-such-program")
    assert said.err == "exit code 127 on node-[0-2]\n"


@pytest.mark.parametrize("words", [["localhost", "ls", "-l"], ["localhost", "ls"]])
def test_a_command_without_dashes_before_it_is_not_guessed(home: Path, capsys, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["exec", *words])
    assert ended.value.code == 2 and "The command comes after --" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["exec", "localhost"], ["exec", "localhost", "--"], ["exec", "", "--", "ls"]]
)
def test_without_a_command_or_a_node_nothing_runs(home: Path, words: list[str]) -> None:
    assert cli.main(words) == 2


def test_different_ends_are_told_apart() -> None:
    results = [
        CommandResult("n1", 0, "a\n"),
        CommandResult("n2", 2, "b\n"),
        CommandResult("n3", 0, "a\n"),
        CommandResult("n4", error="n4: its name does not resolve", fix="correct the name"),
        CommandResult("n5", None, "half", timed_out=True),
        CommandResult("n6", -9, ""),
    ]
    file = io.StringIO()
    print_results(results, Out(file))
    assert file.getvalue().splitlines() == [
        "n[1,3] (2 nodes)",
        "  a",
        "n2  exit code 2",
        "  b",
        "n4  its name does not resolve",
        "  fix  correct the name",
        "n5  did not end in time, and was ended",
        "  half",
        "n6  ended by SIGKILL",
    ]
    assert summary(results) == (
        "exit code 0 on n[1,3]; exit code 2 on n2; ended by SIGKILL on n6; "
        "no answer on n4; did not end in time, and was ended on n5"
    )
    assert exit_code(results) == 1 and exit_code(results[:1]) == 0
    assert exit_code([results[0], results[3]]) == exit_code([results[0], results[4]]) == 3 == exit_code([])


# ---- what NODES means ----


def addresses(text: str) -> list[tuple[str, str, str | None]]:
    nodes = open_targets(text, Access())
    return [(node.name, node.address, node.user) for node in nodes.nodes.values()]


def test_names_a_hostfile_and_a_run_file_are_nodes(home: Path, file: str, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a1 slots=8\na2 slots=8 # two\n")
    assert addresses("me@node[1-2]") == [("node1", "node1", "me"), ("node2", "node2", "me")]
    assert addresses(str(tmp_path / "hosts")) == [("a1", "a1", None), ("a2", "a2", None)]
    assert [name for name, _, _ in addresses(file)] == ["node-0", "node-1", "node-2"]


def test_a_whole_id_of_a_run_means_its_nodes_and_a_part_of_it_a_host(home: Path) -> None:
    entry = {"id": "x-0101-aaaa", "name": "x", "launch": "ssh", "created_at": 1.0}
    index.folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    node = {"name": "node7", "address": "10.0.0.7", "rank": 0}
    (index.folder() / "x-0101-aaaa.json").write_text(json.dumps({**entry, "nodes": [node]}))
    assert addresses("x-0101-aaaa") == [("node7", "10.0.0.7", None)]
    assert addresses("x-0101") == [("x-0101", "x-0101", None)]


@pytest.mark.parametrize(
    "text", ["", " ", "./hosts", "gone.yaml", "node[1", "a b", "$(reboot)", "-oProxyCommand=x"]
)
def test_what_names_no_node_is_bad_input(home: Path, text: str) -> None:
    with pytest.raises(BadInput):
        open_targets(text, Access())


def test_this_machine_is_reached_without_ssh(home: Path) -> None:
    (program,) = open_targets("localhost", Access()).programs.values()
    assert isinstance(program.transport, LocalTransport)
