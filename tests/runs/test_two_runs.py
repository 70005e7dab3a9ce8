"""Two runs that are started at one moment on one machine, without a word about ports."""

from __future__ import annotations

import json
import re

import pytest

from tests.harness.desk import Desk

pytestmark = pytest.mark.lengthy


def test_two_runs_of_one_second_both_train(runner: Desk) -> None:
    file = runner.light("--steps", 20, "--seconds", 0.3, nodes="node-[0-1]", network={})
    both = [runner.start("run", file, "--json") for _ in range(2)]
    ended = [json.loads(one.communicate(timeout=300)[0])["runs"][0] for one in both]
    assert [(run["state"], run["step"]) for run in ended] == [("succeeded", 20)] * 2, ended
    ports = []
    for run in ended:
        folder = runner.keeper(run["id"]).parent
        jobs = [json.loads((folder / "nodes" / f"node-{n}" / "job.json").read_text()) for n in (0, 1)]
        words = {word for job in jobs for word in job["argv"] if word.startswith("--master-port=")}
        assert len(words) == 1, "all nodes of a run meet at one port"
        ports.append(int(re.sub(r"\D", "", words.pop())))
    assert ports[0] != ports[1] and all(39500 <= port <= 39999 for port in ports)
