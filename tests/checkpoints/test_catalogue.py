"""The catalogue of findings says what the code uses, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import allranks.checkpoints
from allranks.checkpoints import catalogue

ROOM = Path(allranks.checkpoints.__file__).parent


def test_every_id_that_the_code_uses_is_in_the_catalogue_and_the_other_way_round():
    ids = set()
    for path in ROOM.rglob("*.py"):
        if path.name != "catalogue.py":
            ids |= set(
                re.findall(r'"((?:adapter|checkpoint|prune|save|export)-[a-z0-9-]+)"', path.read_text())
            )

    assert ids == set(catalogue.CATALOGUE)


def test_every_entry_says_why_and_what_to_do():
    for kind in catalogue.CATALOGUE.values():
        assert kind.title.endswith(".")
        assert kind.verdict == "ok" or (kind.why and kind.fix.endswith("."))


def test_evidence_is_bounded():
    finding = catalogue.found("adapter-unpaired", "f", "saw", evidence=tuple(map(str, range(1000))))

    assert len(finding.evidence) == 21 and finding.evidence[-1] == "and 980 more"
