"""Which versions of the libraries a plan is made for, and what each of them does."""

from __future__ import annotations

from typing import Any

import pytest

from allranks.core import facts_from_json
from allranks.plan import versions
from allranks.plan.versions import Versions, dotted, parse, versions_of
from allranks.spec import loads

START = "nodes: node[1-2]\ngpus: 8\ntrain: {llamafactory: {model_name_or_path: /m}}\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("535.161.08", (535, 161, 8)), ("2.13.0+cpu", (2, 13, 0)), (" v5.6", (5, 6)), ("12", (12,)),
        ("0.19.8.dev3", (0, 19, 8)), ("1..2", (1,)), ("main", None), ("", None), (None, None), (5.6, None),
    ],
)  # fmt: skip
def test_a_version_is_the_numbers_that_a_text_begins_with(text: Any, version: Any) -> None:
    assert parse(text) == version
    assert dotted(version) == ("unknown" if version is None else ".".join(map(str, version)))


def test_each_behaviour_begins_with_a_version() -> None:
    """Just before it, with it, and just after it; without a version nobody knows."""
    ends = {"float32_adapters": versions.FLOAT32_ADAPTERS, "holds_recomputed": versions.HOLDS_RECOMPUTED}
    for name, first in ends.items():
        *start, last = first
        before, after = (*start, last - 1), (*start, last + 1)
        told = [getattr(Versions(None, one), name) for one in (before, first, after)]
        assert told == [False, True, True], name
    assert Versions(None, None).float32_adapters and not Versions(None, None).holds_recomputed
    for version, fused in (((4, 57, 9), False), ((5,), True), ((5, 0, 0), True), (None, True)):
        assert Versions(version, None).fused_experts is fused


def told(extra: str, **facts: dict[str, Any]) -> tuple[str, str]:
    """`facts` are the versions that each node sent."""
    sent = {}
    for name, one in facts.items():
        sent[name] = facts_from_json({"node": name, "values": {"software": {"versions": one}}})
    found = versions_of(loads(START + extra, "r.yaml"), sent)
    return dotted(found.transformers), dotted(found.deepspeed)


def test_nodes_and_pins_come_before_what_make_setup_installs() -> None:
    ours = tuple(map(dotted, versions.OURS.values()))
    assert told("") == ours
    assert told("", node1={}) == ("unknown", "unknown")
    assert told("", node2={"transformers": "4.52.4"}) == ("4.52.4", "unknown")
    assert told("", node1={"deepspeed": "main"}, node2={"deepspeed": "0.18.9"}) == ("unknown", "0.18.9")
    assert told("environment: {python: /opt/python}\n") == ("unknown", "unknown")
    assert told("environment: {conda: train}\n") == ("unknown", "unknown")


def test_a_container_has_the_versions_of_its_pins_alone() -> None:
    start = "container: {engine: docker, image: x/y, pip: ["
    sent = {"transformers": "4.52.4", "deepspeed": "0.18.9"}
    assert told(f"{start}]}}\n", node1=sent) == ("unknown", "unknown")
    assert told(f"{start}Transformers==5.1.0, deepspeed~=0.19.2, numpy>=1]}}\n", node1=sent) == (
        "5.1.0",
        "0.19.2",
    )
    assert told(f"{start}transformers>=5.1, 'deepspeed ==0.17']}}\n") == ("unknown", "0.17")
