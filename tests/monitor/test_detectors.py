"""The cases of every detector, and what the catalogue promises. A case is
`{"expect": {...}, "events": [...], "now": seconds}`, and what the last finding must be: `"verdict"`, a part of `"saw"`
and of `"fix"`, the `"count"` of all.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from allranks import diagnose, monitor
from allranks.core import Event, event_from_json
from allranks.monitor import Watch
from tests import said
from tests.cases import limits, loose, undeclared
from tests.monitor.cases import CASES

DETECTORS = sorted(monitor.rules().items())

KNOWN: dict[int, list[Event]] = {}
"""The events of each case: the cases are run for each number of their detector."""


def events_of(case):
    if id(case) not in KNOWN:
        KNOWN[id(case)] = [event_from_json(event) for event in case["events"]]
    return KNOWN[id(case)]


def findings(case, events=None):
    """All that a case, or these of its events, make the watch say, and at the end its verdict."""
    follow = Watch(case.get("expect"))
    found = []
    events = events_of(case) if events is None else events
    for event in events:
        found += [*follow.add(event), *follow.tick(event.at)]
    last = int(events[-1].at) if events else 0
    for second in range(last + 1, int(case.get("now", last)) + 1):
        found += follow.tick(float(second))
    verdict = follow.verdict(float(case.get("now", last)))
    assert not follow.faulty
    return found, verdict


def test_each_detector_has_a_file_of_cases_and_each_file_a_detector():
    assert list(CASES) == [name for name, _ in DETECTORS]


def held(name, cases):
    """What is said in its cases, if they hold."""
    assert cases.FIRES and cases.SILENT
    every = []
    for case in cases.FIRES:
        told, verdict = findings(case)
        every += [*told, verdict]
        found = [f for f in told if f.id == name]
        assert found, case
        assert case.get("verdict", found[-1].verdict) == found[-1].verdict
        assert case.get("saw", "") in found[-1].saw and case.get("fix", "") in found[-1].fix
        assert case.get("count", len(found)) == len(found)
    for case in cases.SILENT:
        told, verdict = findings(case)
        every += [*told, verdict]
        assert name not in {f.id for f in told}, case
    return [one for one in every if one is not None]


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_detector_speaks_and_stays_silent(name, cases):
    told = said.lines(held(name, cases))
    said.hold(Path(__file__).parent / "said" / f"{name}.txt", told)


MOST_EVENTS = 10
"""Longer cases are left as they are: most of their events are alike."""


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_what_is_said_of_a_case_without_one_of_its_events(name, cases):
    """The neighbours of each case: what needs two events, and what is said if the first or the last did not arrive."""
    told = []
    for place, case in enumerate((*cases.FIRES, *cases.SILENT)):
        events = events_of(case)
        for number in range(len(events)) if 1 < len(events) <= MOST_EVENTS else ():
            found, verdict = findings(case, events[:number] + events[number + 1 :])
            first = "; ".join(f"{one.id} {one.verdict} at {one.where}" for one in found) or "nothing"
            last = f"{verdict.cause} {verdict.confidence} at {verdict.where}" if verdict else "nothing"
            told.append(f"case {place} without event {number}: {first} -> {last}")
    said.hold(Path(__file__).parent / "said" / f"{name}.txt", told)


def test_each_detector_names_the_numbers_that_it_judges_by():
    assert not [one for _, module in DETECTORS for one in undeclared(module)]


@pytest.mark.lengthy
@pytest.mark.parametrize(("name", "module"), [one for one in DETECTORS if limits(one[1])])
def test_cases_lie_just_below_and_just_above_each_number(name, module):
    assert not loose(module, [partial(held, name, CASES[name])])


@pytest.mark.parametrize(("name", "module"), DETECTORS)
def test_a_detector_has_a_page_unless_a_symptom_has_it(name, module):
    assert (monitor.page(name) is None) == (name in diagnose.ids())


def test_a_statement_is_made_once():
    case = CASES["node-lost"].FIRES[0]
    follow = Watch()
    said = []
    for event in case["events"]:
        said += follow.add(event_from_json(event))
    for second in range(6, 60):
        said += follow.tick(float(second))
    assert [f.verdict for f in said] == ["warn", "block"]


def test_a_faulty_detector_silences_itself_alone(monkeypatch):
    def broken(run, now):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(monitor.rules()["node-lost"], "detect", broken)
    follow = Watch()
    assert [f.id for f in follow.tick(1.0)] == ["detector-fault"]
    assert follow.tick(9.0) == [] and "node-lost" in follow.faulty


def test_a_fault_of_the_judgement_is_named_and_ends_nothing(monkeypatch):
    def breaks(*_):
        raise KeyError("nobody\x1b[31m expected")

    watch = Watch({"world_size": 1})
    watch.add(Event(1.0, "torchrun-ended", "a", None, {"code": 1}))
    monkeypatch.setattr("allranks.monitor.run_monitor._verdict.verdict", breaks)
    found = watch.verdict(5.0)
    assert found is not None and (found.cause, found.confidence) == ("unproven", "unproven")
    assert "KeyError" in found.evidence[-1] and "\x1b" not in found.evidence[-1]
    assert "KeyError" in watch.faulty["verdict"] and "torchrun on a ended with code 1" in found.evidence
