"""Ports and answers that the checks read, at their ends."""

from __future__ import annotations

import pytest

from allranks.checks.rules.firewall_closed import port_open
from allranks.checks.shared_paths import answer
from allranks.core import facts_from_json


@pytest.mark.parametrize(
    ("ports", "port", "opened"),
    [
        (["29500"], 29500, True), (["29500"], 29501, False), (["29500"], 29499, False), ([29500], 29500, True),
        (["100:200"], 100, True), (["100:200"], 200, True), (["100:200"], 99, False), (["100:200"], 201, False),
        (["ssh", "100:"], 100, True), (["100:"], 101, False), ([], 1, False), (["a:b", "5:9"], 7, True),
    ],
)  # fmt: skip
def test_a_port_is_open_if_a_number_or_a_range_holds_it(ports: list, port: int, opened: bool) -> None:
    assert port_open(ports, port) is opened


def test_a_node_that_was_not_asked_has_not_looked() -> None:
    values = {"shared": {"folders": {"/out": {"done": True}}}}
    facts = {
        "n1": facts_from_json({"node": "n1", "values": values}), "n2": facts_from_json({"node": "n2"}),
        "n3": facts_from_json({"node": "n3", "unreadable": {"shared.folders": "no answer within 5 s"}}),
    }  # fmt: skip
    assert answer(facts, "n1", "/out") == {"done": True}
    assert answer(facts, "n1", "/else") == {"done": None, "reason": "it did not answer"}
    assert answer(facts, "n2", "/out") == {"done": None, "reason": "it did not answer"}
    assert answer(facts, "n3", "/out") == {"done": None, "reason": "no answer within 5 s"}
    assert answer(facts, "n4", "/out") == {"done": None, "reason": "it was not asked"}
