"""One file is a symptom; the catalogue finds it without being told, in a folder and in a zip."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import allranks
from allranks.core.pages import PageError
from allranks.core.rules import modules
from allranks.diagnose import catalogue, diagnose, ids, parse

NEW = '''"""The coffee is out.

## How it is found
`coffee reservoir empty`.

Easily confused with nothing.

## Why it matters
Nobody watches the run.

## What to do
Fill it.

## Source
The coffee machine, `src/display.c`.

Topic: nodes
"""

from allranks.diagnose.symptom import Pattern

PATTERNS = (Pattern("coffee reservoir empty"),)
'''


@pytest.fixture
def one_more(tmp_path, monkeypatch):
    """The package of symptoms with one more folder, and a catalogue that has not looked yet."""
    (tmp_path / "coffee_is_out.py").write_text(NEW)
    monkeypatch.setattr(catalogue._package, "__path__", [*catalogue._package.__path__, str(tmp_path)])
    modules.cache_clear()
    monkeypatch.setattr(catalogue, "_index", {})
    monkeypatch.setattr(catalogue, "_causes", {})
    yield
    modules.cache_clear()
    sys.modules.pop("allranks.diagnose.symptoms.coffee_is_out", None)


def test_one_file_is_all_that_a_symptom_needs(one_more):
    assert "coffee-is-out" in ids()
    found = diagnose(parse("node1: [rank3] coffee reservoir empty\n"))
    assert (found.cause, found.where.rank, found.fix) == ("coffee-is-out", 3, "Fill it.")


def test_a_symptom_names_the_source_of_its_texts(one_more, tmp_path):
    text = NEW.replace("## Source\nThe coffee machine, `src/display.c`.\n\n", "")
    assert text != NEW
    (tmp_path / "coffee_is_out.py").write_text(text)
    with pytest.raises(PageError, match="coffee-is-out: nothing under Source"):
        catalogue.page("coffee-is-out")


def test_found_inside_a_zip(tmp_path):
    source = Path(allranks.__file__).parent
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        for path in [
            source / "__init__.py",
            *(p for r in ("core", "diagnose", "monitor") for p in (source / r).rglob("*.py")),
        ]:
            archive.write(path, Path("allranks") / path.relative_to(source))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from allranks import diagnose, monitor\n"
        "assert sys.argv[1] in diagnose.__file__\n"
        "print(len(diagnose.ids()), len(monitor.ids()), diagnose.diagnose(diagnose.parse('CUDA "
        "error: out of memory')).cause)"
    )
    out = subprocess.run(
        [sys.executable, "-I", "-c", code, str(bundle)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    symptoms, detectors, cause = out.stdout.split()
    assert int(symptoms) == len(ids()) and int(detectors) >= 15 and cause == "cuda-oom"
