"""Real runs of three ranks of which one stops moving: who is named, with which line, while it happens."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.desk import SCRIPTS, Desk
from tests.harness.live_page import LivePage

pytestmark = pytest.mark.training

NAMED_SECONDS = 240.0
"""A stall is to be seen within 15 s and its evidence collected within 8 s (`make bench-faults` measures it); this
machine may be busy, and torch's own limit, which names nobody, is 10 minutes."""


def line_of(text: str) -> int:
    lines = (SCRIPTS / "loop.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def named(runner: Desk, fault: str, *more: object) -> tuple[dict[str, Any], float, list[list[int]]]:
    """The finding that names a rank, the seconds from the last step of any rank to it, and the ranks of each stack that
    the live page shows."""
    file = runner.file("--fault", fault, "--rank", 1, "--at", 14, "--steps", 4000, *more)
    controller = runner.start("run", file)
    try:
        run = runner.at_step(13)

        def held() -> Any:
            found = [e for e in runner.events(run["id"]) if e["kind"] == "finding"]
            return [e for e in found if e["data"]["id"] == "rank-holds-up"]

        event = runner.until(held, seconds=NAMED_SECONDS)[0]
        steps = [e["at"] for e in runner.events(run["id"]) if e["kind"] == "beat" and e["data"].get("steps")]
        with LivePage(runner, run["id"]) as page:
            stacks = [one["ranks"] for one in page.stacks()]
        return event["data"], event["at"] - max(at for at in steps if at < event["at"]), stacks
    finally:
        runner("stop", runner.runs()[0]["id"], "-y")
        controller.communicate(timeout=120)


@pytest.mark.parametrize(
    ("fault", "line", "words"),
    [
        ("sleep", "time.sleep(600)  # asleep", "it is at"),
        ("loader", "time.sleep(600)  # the disk", "data loader"),
        ("stop", "os.kill(os.getpid(), signal.SIGSTOP)", "stopped by a signal"),
    ],
)
def test_the_rank_that_stands_still_is_named_with_its_line(runner, fault, line, words) -> None:
    finding, seconds, stacks = named(runner, fault)
    assert stacks[0] == [1], "who is apart comes first"
    assert (finding["where"]["node"], finding["where"]["rank"]) == ("node-1", 1), finding
    assert words in finding["saw"]
    if fault != "stop" or shutil.which("py-spy", path=str(Path(sys.executable).parent)):
        assert finding["where"]["line"] == line_of(line), finding
    assert seconds < NAMED_SECONDS
    assert runner.left() == []


def test_another_collective_ends_the_run_with_its_rank_and_line(runner) -> None:
    file = runner.file("--fault", "mismatch", "--rank", 1, "--at", 14, "--steps", 4000)
    run = runner.run(file, code=1)  # within 300 s: torch itself waits for 30 minutes
    where = run["diagnosis"]["where"]
    assert (run["diagnosis"]["cause"], where["rank"]) == ("collective-mismatch", 1), run["diagnosis"]
    assert where["line"] == line_of("dist.broadcast(")
    assert runner.left() == []
