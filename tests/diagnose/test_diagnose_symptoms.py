"""Every symptom's own cases, and what the catalogue promises."""

from __future__ import annotations

from functools import partial

import pytest

from allranks import diagnose
from allranks.diagnose import catalogue
from tests.cases import limits, loose, undeclared
from tests.diagnose.cases import CASES

SYMPTOMS = sorted(diagnose.modules().items())


def test_each_symptom_has_a_file_of_cases_and_each_file_a_symptom():
    assert list(CASES) == [name for name, _ in SYMPTOMS]


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_symptom_fires_and_stays_silent(name, cases):
    """The cases are whole small logs that have this cause, also with the rank that it names, and that do not."""
    assert cases.FIRES and cases.SILENT
    for case in cases.FIRES:
        text, rank = (case, None) if isinstance(case, str) else case
        found = diagnose.diagnose(diagnose.parse(text, "run.log"))
        assert found.cause == name
        assert isinstance(case, str) or found.where.rank == rank
    for text in cases.SILENT:
        assert diagnose.diagnose(diagnose.parse(text, "run.log")).cause != name


def test_each_symptom_names_the_numbers_that_it_judges_by():
    assert not [one for _, module in SYMPTOMS for one in undeclared(module)]


@pytest.mark.parametrize(("name", "module"), [one for one in SYMPTOMS if limits(one[1])])
def test_cases_lie_just_below_and_just_above_each_number(name, module):
    assert not loose(module, [partial(test_symptom_fires_and_stays_silent, name, CASES[name])])


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_a_symptom_has_a_page_that_names_similar_ones(name, module):
    assert diagnose.title(name) == diagnose.page(name).title
    assert (
        catalogue.similar(name)
        and catalogue.section(name, "Why it matters")
        and catalogue.section(name, "What to do")
    )


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_literals_hold_no_digit(name, module):
    """A literal with a digit could be missed: lines are told apart with every digit alike."""
    assert not [p.literal for p in module.PATTERNS if any(c.isdigit() for c in p.literal)]
