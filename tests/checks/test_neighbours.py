"""What each check says beside its own cases: with one of a case's changes left out, or a number one larger or smaller.

`tests/checks/said/neighbours.txt` has each answer in a line. A case says what must be said; here a guard that no case
needs, a limit that no case reaches and a default show as soon as they change.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from allranks.checks.catalogue import all_rules
from allranks.checks.context import Context
from allranks.core import OK, facts_from_json
from tests import said
from tests.checks.case import Case
from tests.checks.cases import CASES
from tests.checks.recorded_clusters import changed, planned

PARTS = 4
MOST = 12
"""So many neighbours of one check: those of its first cases."""


def numbers(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of numbers in a value."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from numbers(inner, (*place, key))


def moved(value: Any, place: tuple[Any, ...], step: int) -> Any:
    if not place:
        return value + step
    other = copy.deepcopy(value)
    inner = other
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] += step
    return other


def cheap(case: Case) -> bool:
    """Whether the plan stays that of the recorded cluster: another one takes a third of a second."""
    places = ["/".join(place) if isinstance(place, tuple) else place for place in case.change]
    planned_anew = [
        one for one in places if one.startswith(("run/", "deepspeed")) and not one.startswith("run/env/")
    ]
    return not planned_anew and not any("model/config" in one for one in places)


def neighbours(case: Case) -> Iterator[tuple[str, dict[Any, Any]]]:
    """(what differs, the changes of the cluster)"""
    for place, value in case.change.items():
        left = {other: one for other, one in case.change.items() if other != place}
        name = "/".join(place) if isinstance(place, tuple) else place
        if left:
            yield f"without {name}", left
        for inner in list(numbers(value))[:1]:
            for step in (-1, 1):
                yield f"{name} {step:+}", {**case.change, place: moved(value, inner, step)}


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_said_beside_each_case(part: int) -> None:
    told = []
    for rule_id in list(CASES)[part::PARTS]:
        rule = all_rules()[rule_id]
        every = [
            (n, case, *one)
            for n, case in enumerate(CASES[rule_id].CASES)
            if cheap(case)
            for one in neighbours(case)
        ]
        for number, case, name, change in every[:MOST]:
            try:
                found = changed(Case(case.cluster, change))
                facts = [facts_from_json(one) for one in found.nodes.values()]
                context = Context.make(facts, planned(found, facts), found.run)
            except (KeyError, TypeError, IndexError, ValueError):
                continue  # a change that only the one left out makes possible
            findings = (
                [one for one in rule.check(context) if one.verdict != OK] if rule.applies(context) else []
            )
            texts = "; ".join(f"{one.verdict} {one.where}: {one.saw} | {one.expected}" for one in findings)
            told.append(f"{rule_id} {number} {name}: {texts or 'nothing'}")
    said.hold(Path(__file__).parent / "said" / "neighbours.txt", told)
