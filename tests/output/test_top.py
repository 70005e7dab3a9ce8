"""`allranks top`: all runs and all their nodes in any window."""

from __future__ import annotations

import io
import itertools
import json
import re

import pytest
from rich.cells import cell_len

from allranks.core import Event
from allranks.output import top
from allranks.output.console import Out
from allranks.output.metrics import Followed


def followed(events, run_id: str, count: int | None = None) -> Followed:
    one = Followed(run_id, "a name", reached=True)
    for event in itertools.islice(events, count):
        one.add(event)
    return one


def many_nodes(count: int, lost: int, idle: int):
    yield Event(0.5, "phase", None, None, {"phase": "watch"})
    for n in range(count):
        name = f"node{n}"
        gpus = [{"uuid": f"GPU-{n}", "index": 0, "utilization": 1 if n == idle else 98, "temperature": 61}]
        memory = {"memory_total_bytes": 100 << 30, "memory_available_bytes": 99 << 30}
        nics = [{"name": "ib0", "received_bytes_per_second": 3 << 30}]
        yield Event(1.0, "joined", name)
        yield Event(2.0, "start", name, n, {"pid": n})
        yield Event(3.0, "beat", name, n, {"phase": "training", "step": 7})
        yield Event(4.0, "sample", name, None, {"gpus": gpus, **memory, "nics": nics, "cpu": {"busy": 0.25}})
    yield Event(5.0, "lost", f"node{lost}", None, {"why": "closed"})


def lines(runs, width: int, height: int = 100, live: bool = True) -> list[str]:
    return [line.plain for line in top.frame(Out(file=io.StringIO(), width=width, live=live), runs, height)]


def test_a_line_a_run_and_a_line_a_node(events):
    runs = [followed(events("large"), "big-1120-a1"), followed(many_nodes(2, 1, 0), "two-1120-b2")]
    shown = lines(runs, 120)
    assert shown[0].split()[:3] == ["run", "does", "step"]
    assert re.match(r"big-1120-a1  succeeded  400/400  100 % +\d\.\d+ +0\.2\d+ s +3 +24 +1$", shown[1])
    assert re.match(r"two-1120-b2  training +7 +2 +2$", shown[2])
    assert shown[7].startswith("node-0  big-1120-a1      8")
    assert re.match(r"node0   two-1120-b2 +1  25 % +99\.0 GiB  3\.00 GiB/s +1 % +61 °C$", shown[5])
    assert shown[6].endswith("61 °C  connection lost")


def test_of_many_nodes_those_that_ask_for_a_look_are_shown():
    runs = [followed(many_nodes(125, 99, 50), "big-1120-a1")]
    shown = lines(runs, 80, 12)
    assert len(shown) <= 12 and all(cell_len(line) <= 80 for line in shown)
    assert {"node50", "node99"} <= {line.split()[0] for line in shown[4:-1]}
    assert shown[-1] == "118 other nodes: busier, with more free memory"


@pytest.mark.parametrize("height", [1, 2, 3, 5])
def test_a_low_window_is_not_left(events, height):
    assert len(lines([followed(events("large"), "a")] * 3, 40, height)) <= height


def test_the_document_holds_figures(events):
    gone = followed((), "gone-1120-c3")
    gone.reached = False
    told = top.as_json([followed(many_nodes(2, 1, 0), "two"), gone])
    first, second = json.loads(json.dumps(told))["runs"]
    assert (first["step"], first["ranks"], [node["lost"] for node in first["nodes"]]) == (7, 2, [False, True])
    assert first["nodes"][0]["gpus"][0]["temperature"] == 61 and second["reached"] is False
    assert lines([gone], 100)[1].split() == ["gone-1120-c3", "not", "reached"]
    assert lines([], 100) == ["No run is active. Start one: allranks run FILE"]
