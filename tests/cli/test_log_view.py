"""The verb `logs`: whole lines with their node and rank, whatever the pieces were."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from allranks import cli
from allranks.cli.log_view import Lines, fold_lines, read_file
from allranks.cli.run_verbs import journal
from allranks.cli.verbs.stop import describe
from allranks.core import Node
from allranks.node.paths import RunDirectory
from allranks.runs import index
from allranks.transport import Nodes, Unreachable

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
    lines.add("nodes/b/logs/torchrun.log", "\x1b[31mred \x1b[2J\n")
    lines.add("nodes/a/logs/rank-1.log", "e\ntw")
    lines.end()
    assert said == [("b", None, "red \\x1b[2J"), ("a", 1, "one"), ("a", 1, "tw")]


def test_a_log_that_grows_faster_than_it_is_read_has_an_end() -> None:
    class Growing:
        async def call(self, *words: str) -> dict[str, object]:
            offset = int(words[4])
            assert offset < 40, "it reads on behind what stood there"
            return {"text": "step 1 done\n", "next_offset": offset + 12}

    said: list[str] = []
    lines = Lines(lambda node, rank, text: said.append(text))
    asyncio.run(read_file(Growing(), RUN, "nodes/a/logs/rank-0.log", range(0, 30), lines))  # type: ignore[arg-type]
    assert said == ["step 1 done"] * 3


def test_json_is_one_document_with_every_line(a_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["logs", a_run, "--rank", "0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["id"] == a_run
    assert [line["text"] for line in answer["lines"]] == ["one", "100%", "last"]
    assert {(line["node"], line["rank"]) for line in answer["lines"]} <= {("node-0", 0)}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--tail", "2"], ["98", "\\x07 99"]),
        (["--grep", "^9[0-2]$"], ["90", "91", "92"]),
        (["--grep", "Future|client"], []),
        (["--grep", "Future|return", "--noise"], ["/x/a.py:3: FutureWarning: old", "  return old()"] * 2),
        (["--grep", "9", "--tail", "1"], ["\\x07 99"]),
        (["--tail", "2", "-f"], ["98", "\\x07 99"]),
    ],
)
def test_lines_are_chosen_and_noise_and_colours_are_left_out(
    a_run: str, words: list[str], shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = [str(n) for n in range(30_000)]
    said[29_000] = "\x1b[1;31mred\x1b[0m \x1b[K"
    noise = [
        "/x/a.py:3: FutureWarning: old",
        "  return old()",
        "The client socket has failed to connect to [localhost]",
    ]
    lines = [*said, *noise, "98", "\x07 99", *noise]
    Path(RunDirectory(a_run).root, "nodes/node-0/logs/rank-0.log").write_text("\n".join(lines) + "\n")
    assert cli.main(["logs", a_run, "--rank", "0", *words]) == 0
    said_now = capsys.readouterr()
    assert [line.split(" ", 2)[2] for line in said_now.out.splitlines()] == shown
    assert ("of a kind that healthy runs print: hidden" in said_now.err) is ("--noise" not in words)


def test_a_rank_s_log_comes_with_the_journal_and_is_no_part_of_it() -> None:
    asked: list[str] = []

    class Head:
        async def follow(self, *words: str):
            asked.extend(words)
            yield {"path": "keeper/journal.jsonl", "text": '{"at": 1, "kind": "joined", '}
            yield {"path": "nodes/a/logs/rank-0.log", "text": '{"at": 2, "kind": "lost"}\n'}
            yield {"path": "keeper/journal.jsonl", "text": '"node": "a", "rank": null, "data": {}}\n'}

    async def told(*more) -> list[str]:
        return [event.kind async for event in journal(Head(), RUN, *more)]  # type: ignore[arg-type]

    said: list[str] = []
    assert asyncio.run(told("nodes/a/logs/rank-0.log", said.append)) == ["joined"]
    assert said == ['{"at": 2, "kind": "lost"}\n']
    assert asked == [
        RUN,
        "keeper/journal.jsonl",
        "nodes/a/logs/rank-0.log",
        "--from",
        "nodes/a/logs/rank-0.log",
        "-4096",
    ]


def test_following_ends_with_the_run(a_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["logs", a_run, "-f", "--rank", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("last")


@pytest.mark.parametrize(("tail", "shown"), [("1", ["last"]), ("2", ["100%", "last"])])
def test_text_after_the_last_line_break_is_one_of_the_last_lines(
    a_run: str, tail: str, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["logs", a_run, "--rank", "0", "--tail", tail]) == 0
    assert [line.split(" ", 2)[2] for line in capsys.readouterr().out.splitlines()] == shown


class Machine:
    """A node with one log. It falls silent at once if `down`, or after its first line if `cut`."""

    def __init__(self, node: str, state: str, down: bool, cut: bool) -> None:
        self.node, self.state, self.down, self.cut = node, state, down, cut
        self.asked: list[str] = []
        self.path = f"nodes/{node}/logs/rank-{node[1:]}.log"

    async def call(self, *words: str) -> dict[str, Any]:
        self.asked.append(words[1])
        if self.down:
            raise Unreachable(self.node, "no-route", "no route to host")
        if words[1] == "listing":
            return {"files": [{"path": self.path, "size_bytes": 4}]}
        if words[1] == "status":
            return {"state": self.state}
        if self.cut:
            raise Unreachable(self.node, "silent", "the connection was lost")
        return {"text": "one\n", "offset": 0, "next_offset": 4, "size_bytes": 4}

    async def follow(self, *_: str) -> AsyncIterator[dict[str, Any]]:
        yield {"path": self.path, "text": "one\n"}
        await asyncio.sleep(0)
        if self.cut:
            raise Unreachable(self.node, "silent", "the connection was lost")
        yield {"path": self.path, "text": "two\n"}


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch):
    """`machines("n0", "n1", down="n1")`: a run on these nodes."""

    def made(*names: str, down: str = "", cut: str = "", state: str = "succeeded") -> dict[str, Machine]:
        there = {name: Machine(name, state, name == down, name == cut) for name in names}
        nodes = Nodes(there, {name: Node(name, name, rank) for rank, name in enumerate(names)})  # type: ignore[arg-type]

        @contextlib.asynccontextmanager
        async def connected(_: str) -> AsyncIterator[Nodes]:
            yield nodes

        async def find(_: str | None) -> str:
            return RUN

        monkeypatch.setattr(index, "connected", connected)
        monkeypatch.setattr(index, "find", find)
        return there

    return made


@pytest.mark.parametrize("words", [[], ["--tail", "1"], ["-f"], ["--rank", "0"]])
def test_a_node_that_is_down_hides_no_other_log(machines, words: list[str], capsys) -> None:
    machines("n0", "n1", "n2", down="n1")
    assert cli.main(["logs", RUN, *words]) == 3
    said = capsys.readouterr()
    assert "(n0, 0) one" in said.out.splitlines()
    assert said.err == "n1: its logs are missing or not whole: no route to host\n"


def test_a_rank_of_a_missing_node_is_not_called_unknown(machines, capsys) -> None:
    machines("n0", "n1", down="n1")
    assert cli.main(["logs", RUN, "--rank", "1"]) == 3
    assert "n1: its logs are missing" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["-f"]])
def test_a_node_that_falls_silent_does_not_end_the_others(machines, words: list[str], capsys) -> None:
    machines("n0", "n1", cut="n0")
    assert cli.main(["logs", RUN, *words]) == 3
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == f"(n1, 1) {'two' if words else 'one'}"
    assert said.err == "n0: its logs are missing or not whole: the connection was lost\n"


def test_only_the_wanted_node_is_asked(machines, capsys) -> None:
    there = machines("n0", "n1", down="n1")
    assert cli.main(["logs", RUN, "--node", "n0"]) == 0
    assert capsys.readouterr().out == "(n0, 0) one\n" and there["n1"].asked == []
    assert cli.main(["logs", RUN, "--node", "n1"]) == 3, "its own error"
    assert "no route to host" in capsys.readouterr().err


def test_logs_that_end_before_their_run_are_said_to_be_cut_off(machines, capsys) -> None:
    """A local program that follows them ends without a word if it is killed."""
    machines("n0", state="running")
    assert cli.main(["logs", RUN, "-f"]) == 3
    said = capsys.readouterr()
    assert said.out == "(n0, 0) one\n(n0, 0) two\n" and "goes on, but its logs cannot be followed" in said.err


@pytest.mark.parametrize("words", [["--rank", "9"], ["--node", "nobody"], ["-f", "--json"]])
def test_what_is_not_there_is_bad_input(a_run: str, words: list[str]) -> None:
    assert cli.main(["logs", a_run, *words]) == 2


def test_a_line_that_many_ranks_say_stands_once(a_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = [(f"n{rank // 8 + 1}", rank, "Loading") for rank in range(24)]
    said += [("n2", 9, "alone"), ("n2", 9, "alone"), ("n1", None, "agent"), ("n3", None, "agent")]
    assert fold_lines(said) == [
        "(n[1-3], ranks 0-23) Loading",
        "(n2, 9) alone",
        "(n[1,3], torchrun) agent",
    ]
    assert cli.main(["logs", a_run, "--fold"]) == 0
    assert "(node-0, 0) last" in capsys.readouterr().out.splitlines()
    assert cli.main(["logs", a_run, "--fold", "--json"]) == 2


def test_what_stop_would_end_is_folded_over_nodes() -> None:
    ranks = [{"pid": 40 + n, "name": "python", "why": "a rank"} for n in range(2)]
    found = [{"node": f"n{n}", "processes": ranks} for n in range(1, 31)]
    found += [{"node": "m1", "processes": [{"pid": 7, "name": "tensorboard", "why": "a child"}]}]
    found += [{"node": f"x{n}", "processes": [], "error": "no route to it"} for n in (1, 2)]
    assert describe(found) == [
        "x[1-2]  could not be looked at: no route to it",
        "n[1-30]  60 processes  python  a rank",
        "m1  pid 7  tensorboard  a child",
    ]
