"""Every note that reading a run file can make has its page."""

from __future__ import annotations

import re
from pathlib import Path

import allranks.spec
from allranks.spec import pages


def test_every_note_in_the_source_has_a_page_and_every_page_a_note():
    made = set()
    for path in Path(allranks.spec.__file__).parent.rglob("*.py"):
        made |= set(re.findall(r"\.(?:note|warn)\(\s*\"([a-z-]+)\"", path.read_text(encoding="utf-8")))
    assert made == set(pages.ids())


def test_each_is_a_page():
    for name in pages.ids():
        assert pages.page(name).id == name
