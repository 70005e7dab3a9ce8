"""Every symptom's own cases, and what the catalogue promises."""

from __future__ import annotations

import pytest

from allranks import diagnose
from allranks.diagnose import catalogue
from allranks.diagnose.symptom import HEADINGS

SYMPTOMS = sorted(diagnose.modules().items())


def cause(text):
    return diagnose.diagnose(diagnose.parse(text, "run.log")).cause


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_symptom_fires_and_stays_silent(name, module):
    assert module.FIRES and module.SILENT
    for text in module.FIRES:
        assert cause(text) == name
    for text in module.SILENT:
        assert cause(text) != name


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_page_has_its_headings_and_role(name, module):
    page = diagnose.page(name)
    assert all(heading in page for heading in HEADINGS)
    assert diagnose.title(name) and module.ROLE in ("P", "S")
    assert catalogue.section(name, "Why it matters") and catalogue.section(name, "What to do")


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_explained_symptoms_exist(name, module):
    assert set(getattr(module, "EXPLAINS", ())) <= set(diagnose.ids()) - {name}


@pytest.mark.parametrize(("name", "module"), SYMPTOMS)
def test_literals_hold_no_digit(name, module):
    """A literal with a digit could be missed: lines are told apart with every digit alike."""
    assert not [p.literal for p in module.PATTERNS if any(c.isdigit() for c in p.literal)]
