"""Every id that can be printed has a page, and docs/findings.md is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from allranks.output.pages import books, known


def test_every_id_in_the_code_has_a_page(root: Path) -> None:
    ids = set()
    for path in (root / "src" / "allranks").rglob("*.py"):
        ids |= set(re.findall(r'\bid="([a-z0-9-]+)"', path.read_text(encoding="utf-8")))
    assert ids and not ids - set(known())


def test_every_rule_that_is_a_file_has_a_page(root: Path) -> None:
    files = (root / "src" / "allranks").glob("*/rules/*.py")
    rules = {path.stem.replace("_", "-") for path in files if path.stem != "__init__"}
    assert {"gpu-ecc", "not-probed"} <= rules and not rules - set(known())


def test_no_page_of_an_id_is_hidden_by_another() -> None:
    pages = known()
    for book in books():
        for name in book.ids():
            assert book.page(name).strip() in pages[name](name), (book.__name__, name)
    assert pages["duplicate-gpu"]("duplicate-gpu").count("## What is seen") == 1, (
        "one page of two rooms is shown once"
    )


def test_every_page_says_what_why_and_what_to_do() -> None:
    pages = known()
    for name in pages:
        assert len(pages[name](name).strip().splitlines()) >= 3, name


def test_the_docs_are_what_the_code_says(root: Path) -> None:
    done = subprocess.run([sys.executable, str(root / "scripts" / "make_docs.py"), "--check"], check=False)
    assert done.returncode == 0, "make docs"
