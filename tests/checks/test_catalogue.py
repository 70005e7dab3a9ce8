"""Every check: its page, its cases, and that recorded clusters as they stand are quiet."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from allranks import checks
from allranks.checks.catalogue import all_rules
from allranks.core import OK
from tests import said
from tests.cases import limits, loose, undeclared
from tests.checks.cases import CASES
from tests.checks.recorded_clusters import CLUSTERS, FOLDER, changed, cluster, judged
from tests.recorded.compose import composed

ALL = all_rules()
NUMBERED = [(id_, number, case) for id_, own in CASES.items() for number, case in enumerate(own.CASES)]


def test_each_check_has_a_page_of_its_own_or_a_cause_has_it():
    assert [rule_id for rule_id in ALL if checks.page(rule_id) is None] == ["gpu-busy"]


def test_each_check_has_a_file_of_cases_and_each_file_a_check():
    assert list(CASES) == list(ALL)


@pytest.mark.parametrize("rule_id", CASES)
def test_each_check_has_a_case_that_fires_and_one_that_stays_silent(rule_id):
    assert {case.fires for case in CASES[rule_id].CASES} == {True, False}


def held(rule_id, case):
    """What the check says in a case that holds."""
    findings = [f for f in judged(changed(case)) if f.verdict != OK]
    mine = [f for f in findings if f.id == rule_id]
    if not case.fires:
        assert not mine, [f.saw for f in mine]
        return mine
    assert mine, f"it stays silent; others say: {[(f.id, f.saw) for f in findings]}"
    others = {f.id for f in findings} - {rule_id}
    assert others == set(case.also), [(f.id, f.saw) for f in findings if f.id in others - set(case.also)]
    assert case.node is None or case.node in {f.where.node for f in mine}, [str(f.where) for f in mine]
    assert case.verdict is None or case.verdict in {f.verdict for f in mine}
    assert case.saw in " | ".join(f.saw for f in mine), [f.saw for f in mine]
    for finding in mine:
        assert finding.why and finding.saw and finding.expected and finding.fix
    return mine


@pytest.mark.parametrize(("rule_id", "number", "case"), NUMBERED, ids=[f"{i}-{n}" for i, n, _ in NUMBERED])
def test_cases(rule_id, number, case):
    told = said.lines(held(rule_id, case))
    said.hold(Path(__file__).parent / "said" / f"{rule_id}.txt", told)


def test_each_check_names_the_numbers_that_it_judges_by():
    assert not [one for rule in ALL.values() for one in undeclared(rule.module)]


@pytest.mark.parametrize("rule_id", [id_ for id_ in CASES if limits(ALL[id_].module)])
def test_cases_lie_just_below_and_just_above_each_number(rule_id):
    proofs = [partial(held, rule_id, case) for case in CASES[rule_id].CASES]
    assert not loose(ALL[rule_id].module, proofs)


WRONG = {"mig": {"gpu-mig"}}
"""Clusters that were recorded for what is wrong with them."""


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_recorded_cluster_is_quiet_but_for_what_it_is_about(name):
    findings = [f for f in judged(cluster(name)) if f.verdict != OK]
    assert {f.id for f in findings} == WRONG.get(name, set()), [(f.id, f.saw) for f in findings]


@pytest.mark.parametrize("name", CLUSTERS)
def test_recorded_facts_are_what_compose_writes(name):
    for file, text in composed(name).items():
        assert (FOLDER / name / file).read_text() == text, "run python -m tests.recorded.compose"
