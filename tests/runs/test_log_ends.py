"""What the keeper keeps of the logs when a run fails."""

from __future__ import annotations

import json
from pathlib import Path

from allranks.core import Where
from allranks.runs import keeper_log_ends

TAILS = {
    "a": {"rank-0.log": "one\ntwo\n\n", "torchrun.log": "agent\n"},
    "b": {
        "rank-2.log": "\x1b[31mred\x1b[0m\n 5 %\r 9 %\nx.py:1: FutureWarning: old\n  old()\n" + "y" * 5000,
        "rank-10.log": "\n".join(map(str, range(100))),
    },
}


def kept(where: Where, folder: Path) -> list[tuple[str, str, int | None]]:
    keeper_log_ends.write(str(folder / "ends.json"), TAILS, where)
    return [
        (log["node"], log["name"], log["rank"])
        for log in json.loads((folder / "ends.json").read_text())["logs"]
    ]


def test_the_guilty_ranks_log_else_its_nodes_else_the_first(tmp_path: Path) -> None:
    assert kept(Where(node="b", rank=10), tmp_path) == [("b", "rank-10.log", 10)]
    assert kept(Where(node="b"), tmp_path) == [("b", "rank-2.log", 2), ("b", "rank-10.log", 10)]
    assert kept(Where(), tmp_path)[0] == ("a", "rank-0.log", 0)
    assert kept(Where(node="gone", rank=7), tmp_path)[-1] == ("a", "torchrun.log", None)


def test_lines_are_the_last_ones_without_noise(tmp_path: Path) -> None:
    red, numbers = (keeper_log_ends.ending(TAILS["b"][name]) for name in ("rank-2.log", "rank-10.log"))
    assert red == ["red", " 9 %", "y" * keeper_log_ends.LONGEST]
    assert numbers == [str(n) for n in range(40, 100)]
    assert keeper_log_ends.ending("one\ntwo\n\n") == ["one", "two"]
    keeper_log_ends.write(str(tmp_path / "not" / "there.json"), TAILS, Where())
