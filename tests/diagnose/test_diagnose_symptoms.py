"""Every symptom's own cases, and what the catalogue promises."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from allranks import diagnose
from allranks.diagnose import catalogue
from allranks.diagnose.ranking import find_cases
from tests import said
from tests.cases import limits, loose, undeclared
from tests.diagnose.cases import CASES
from tests.diagnose.samples import sample

TRACEBACK = 'Traceback (most recent call last):\n  File "/u/a.py", line 1, in f\n'
SYMPTOMS = sorted(diagnose.modules().items())


def test_each_symptom_has_a_file_of_cases_and_each_file_a_symptom():
    assert list(CASES) == [name for name, _ in SYMPTOMS]


def diagnosed(text):
    """The diagnosis, and all causes with their weights in the order in which they count."""
    seen = diagnose.Evidence()
    for line in diagnose.parse(text, "run.log"):
        seen.add(line)
    weights = [f"{case.symptom} {case.weight}" for case in find_cases(seen)]
    return diagnose.conclude(seen), [f"  weighs: {', '.join(weights)}"]


def held(name, cases):
    """What is said of its cases, if they hold."""
    assert cases.FIRES and cases.SILENT
    told = []
    for case in cases.FIRES:
        text, rank = (case, None) if isinstance(case, str) else case
        found, weights = diagnosed(text)
        told += [*said.lines([found]), *weights]
        assert found.cause == name, f"{found.cause} wins {weights} in {text!r}"
        assert isinstance(case, str) or found.where.rank == rank, f"{found.where} in {text!r}"
    for text in cases.SILENT:
        found, weights = diagnosed(text)
        told += [*said.lines([found]), *weights]
        assert found.cause != name, f"it wins {weights} in {text!r}"
    return told


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_symptom_fires_and_stays_silent(name, cases):
    """The cases are whole small logs that have this cause, also with the rank that it names, and that do not."""
    path = Path(__file__).parent / "said" / f"{name}.txt"
    said.hold(path, held(name, cases))


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_what_the_text_of_each_pattern_weighs_alone(name, module):
    """Also of those that no case holds: their own symptom finds them, and what others find in them is known."""
    told = []
    for pattern in module.PATTERNS:
        line = sample(pattern) or pattern.literal
        raised = (f"{TRACEBACK}RuntimeError: {line}", f"{TRACEBACK}{line}") if pattern.raised else ()
        for text in (line, *raised):
            found, weights = diagnosed(text)
            told.append(f"{text!r} {found.cause} {weights[0]}")
    said.hold(Path(__file__).parent / "said" / f"{name}.txt", told)


def summed_up(text):
    found, weights = diagnosed(text)
    return f"{found.cause} {found.confidence} | {found.where} | {', '.join(map(str, found.collateral))}{weights[0]}"


MOST_LINES = 6
"""Longer logs are left as they are: most of their lines say nothing."""


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_what_is_left_of_a_case_without_one_of_its_lines(name, cases):
    """The neighbours of each case: where a statement needs two lines, and which one wins if the first is gone."""
    told = []
    for case in (*cases.FIRES, *cases.SILENT):
        lines = (case if isinstance(case, str) else case[0]).splitlines()
        if 1 < len(lines) <= MOST_LINES:
            for number in range(len(lines)):
                left = "\n".join(lines[:number] + lines[number + 1 :])
                told.append(f"{left[:90]!r}… {summed_up(left)}")
    said.hold(Path(__file__).parent / "said" / f"{name}.txt", told)


def test_which_of_two_causes_in_one_log_wins():
    """Each symptom's first case before that of the next symptom, and after it."""
    told = []
    firsts = {name: cases.FIRES[0] for name, cases in CASES.items()}
    texts = {name: case if isinstance(case, str) else case[0] for name, case in firsts.items()}
    for one, other in zip(CASES, [*CASES][1:], strict=False):
        told.append(f"{one}, then {other}: {summed_up(texts[one] + chr(10) + texts[other])}")
        told.append(f"{other}, then {one}: {summed_up(texts[other] + chr(10) + texts[one])}")
    said.hold(Path(__file__).parent / "said" / "which-of-two.txt", told)


def test_each_symptom_names_the_numbers_that_it_judges_by():
    assert not [one for _, module in SYMPTOMS for one in undeclared(module)]


@pytest.mark.parametrize(("name", "module"), [one for one in SYMPTOMS if limits(one[1])])
def test_cases_lie_just_below_and_just_above_each_number(name, module):
    assert not loose(module, [partial(held, name, CASES[name])])


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
