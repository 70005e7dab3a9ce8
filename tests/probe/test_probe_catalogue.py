"""Every finding of the probe: its page, and its cases on simulated clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from allranks.core import OK, Finding
from allranks.probe.catalogue import all_rules, page
from allranks.probe.judge import Context, judge
from allranks.probe.results import Link
from tests import said
from tests.cases import undeclared
from tests.probe.case import Case, Simulated, collective
from tests.probe.cases import CASES

ALL = all_rules()
NUMBERED = [(id_, number, case) for id_, own in CASES.items() for number, case in enumerate(own.CASES)]


def judged(case: Case) -> list[Finding]:
    simulated = Simulated(case.nodes, case.interface)
    case.change(simulated)
    return [f for f in judge(simulated.results(), simulated.run) if f.verdict != OK]


@pytest.mark.parametrize("rule_id", ALL)
def test_each_finding_has_a_page(rule_id: str) -> None:
    assert page(rule_id) is not None


def test_each_finding_names_the_numbers_that_it_judges_by() -> None:
    assert not [one for rule in ALL.values() for one in undeclared(rule)]


def test_each_finding_has_a_file_of_cases_and_each_file_a_finding() -> None:
    assert list(CASES) == list(ALL)


@pytest.mark.parametrize("rule_id", CASES)
def test_each_finding_has_a_case_that_fires_and_one_that_stays_silent(rule_id: str) -> None:
    assert {case.fires for case in CASES[rule_id].CASES} == {True, False}


@pytest.mark.parametrize(("rule_id", "number", "case"), NUMBERED, ids=[f"{i}-{n}" for i, n, _ in NUMBERED])
def test_cases(rule_id: str, number: int, case: Case) -> None:
    findings = judged(case)
    told = said.lines(findings)
    said.hold(Path(__file__).parent / "said" / f"{rule_id}.txt", told)
    mine = [f for f in findings if f.id == rule_id]
    if not case.fires:
        assert not mine, [f.saw for f in mine]
        return
    assert mine, [(f.id, f.saw) for f in findings]
    assert {f.id for f in findings} - {rule_id} == set(case.also), [(f.id, f.saw) for f in findings]
    assert case.node is None or {f.where.node for f in mine} == {case.node}
    assert case.verdict is None or {f.verdict for f in mine} == {case.verdict}
    assert case.saw in " | ".join(f.saw for f in mine), [f.saw for f in mine]
    assert case.fix in " | ".join(f.fix for f in mine), [f.fix for f in mine]
    assert all(f.saw and f.why and (f.fix or f.verdict != "block") for f in mine)


@pytest.mark.parametrize("nodes", [1, 2, 3, 16, 100])
def test_a_healthy_cluster_is_quiet(nodes: int) -> None:
    simulated = Simulated(nodes)
    findings = judge(simulated.results(), simulated.run)
    assert {f.id for f in findings} <= {"interface-proved"} and all(f.verdict == OK for f in findings)


def test_each_node_whose_interface_was_seen_to_work_is_said_to() -> None:
    simulated = Simulated(3)
    proved = [f for f in judge(simulated.results(), simulated.run) if f.id == "interface-proved"]
    assert {f.where.node for f in proved} == {"n1", "n2"} and {f.verdict for f in proved} == {OK}
    assert "eth0 (10.0.0.2) carries its traffic to n0" in proved[0].saw
    simulated.ears["n1"] = replace(simulated.ears["n1"], address="10.9.9.9")
    again = judge(simulated.results(), simulated.run)
    assert {f.where.node for f in again if f.id == "interface-proved"} == {"n2"}


def test_a_direction_that_carried_something_counts_whatever_was_said_of_it() -> None:
    simulated = Simulated(2)
    links = (Link("n0", "n1", 5e8, reason="cut short"), Link("n1", "n0", None, reason="refused"))
    context = Context(replace(simulated.results(), links=links), simulated.run)
    assert context.rates == {("n0", "n1"): 5e8}
    links = (Link("n0", "n1", None), Link("n1", "n0", 0.5))
    context = Context(replace(simulated.results(), links=links), simulated.run)
    assert context.rates == {("n0", "n1"): 0.0, ("n1", "n0"): 0.5} and context.slow[1] == 0.5


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"NCCL_IB_DISABLE": "1"}, "the ranks get: NCCL_IB_DISABLE=1."),
        ({}, "the ranks get: nothing switched off."),
    ],
)
def test_the_proposed_fabric_names_what_it_switches_off(environment: dict[str, str], words: str) -> None:
    simulated = Simulated(2)
    simulated.collectives.append(
        replace(collective("p2p", ["n0", "n1"], "nccl", 0.02), environment=environment)
    )
    found = [f for f in judge(simulated.results(), simulated.run) if f.id == "fabric-proposed"]
    assert [f.why for f in found] == [words]
