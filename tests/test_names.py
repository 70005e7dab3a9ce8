"""Modules are named after what they hold: docs/decisions/names.md."""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "allranks"

NO_NAMES = (
    "odd who early gone many plain at_hand again apart second_look headless careful heart flats carried vault "
    "scrub after before above below beside beyond inside outside near nearest ahead away back forth within "
    "without about around big small large little new old first last next other same such both few own whole "
    "full empty ready quiet loud late soon now then here there living dead killed lost found begun ended done "
    "said told seen unread unwritten private public temporary refused probed watched hidden shared_with"
)
"""Adjectives, adverbs, prepositions and participles that stood, or could stand, alone as a module's name."""

NO_NAME = re.compile(rf"(^|/)(_|keeper_)?({'|'.join(NO_NAMES.split())})\.py$")


def names() -> list[str]:
    return sorted(str(path.relative_to(SRC)) for path in SRC.rglob("*.py") if path.stem != "__init__")


def test_no_module_is_named_by_an_adjective_or_a_preposition() -> None:
    named = [name for name in names() if NO_NAME.search(name)]
    assert not named, "name each after what it holds"


@pytest.mark.parametrize("name", ["monitor/many.py", "cli/_who.py", "runs/keeper_gone.py", "odd.py"])
def test_such_a_name_is_noticed(name: str) -> None:
    assert NO_NAME.search(name)


@pytest.mark.parametrize("name", ["Place", "Places", "LAUNCHERS"])
def test_a_name_has_one_meaning(name: str) -> None:
    """These stood for several things at once."""
    meant = re.compile(rf"^(class {name}\b|{name}(:[^=]+)? = )", re.MULTILINE)
    found = [path for path in names() if meant.search((SRC / path).read_text(encoding="utf-8"))]
    assert len(found) <= 1


@pytest.mark.parametrize("name", ["look", "ask"])
def test_no_function_has_a_name_that_fits_any(name: str) -> None:
    """They stood for a query, a sample, a scan, a poll and an inspection."""
    named = re.compile(rf"^ *(async )?def _?{name}\(", re.MULTILINE)
    assert [path for path in names() if named.search((SRC / path).read_text(encoding="utf-8"))] == []


def test_the_modules_are_found() -> None:
    assert "monitor/suspect.py" in names()
