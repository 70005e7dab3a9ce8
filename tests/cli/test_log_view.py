"""The verb `logs`: whole lines with their node and rank, whatever the pieces were."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from allranks import cli
from allranks.cli.log_view import Lines, fold_lines, read_file
from allranks.cli.run_verbs import journal
from allranks.cli.verbs.stop import describe
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
