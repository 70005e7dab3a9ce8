"""Every id that can be printed has one page, all in one form, and docs/findings.md is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from allranks import cli
from allranks.core.pages import HEADINGS, PageError, parse
from allranks.output.pages import books, by_topic, known


def test_every_id_in_the_code_has_a_page(root: Path) -> None:
    ids = set()
    for path in (root / "src" / "allranks").rglob("*.py"):
        ids |= set(re.findall(r'\bid="([a-z0-9-]+)"', path.read_text(encoding="utf-8")))
    assert ids and not ids - set(known())


def test_every_rule_that_is_a_file_has_a_page(root: Path) -> None:
    files = (root / "src" / "allranks").glob("*/rules/*.py")
    rules = {path.stem.replace("_", "-") for path in files if path.stem != "__init__"}
    assert {"gpu-ecc", "not-probed"} <= rules and not rules - set(known())


OTHER_WORDS = ("container-mounts", "gpu-ids")
"""Options of other programs, each one letter from an id."""

WORD = re.compile(r"(?<![\w./$-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w/-])")


def misspelt(text: str) -> set[str]:
    """The words that are one letter from an id: one more, one less, another, or two that changed places."""
    ids = set(known())
    shorter = {part for name in ids for part in without_a_letter(name)} | ids
    others = set(WORD.findall(text)) - ids - set(OTHER_WORDS)
    return {word for word in others if not shorter.isdisjoint(without_a_letter(word) | {word})}


def without_a_letter(word: str) -> set[str]:
    return {word[:i] + word[i + 1 :] for i in range(len(word))}


@pytest.mark.lengthy
def test_no_page_document_or_message_misspells_an_id(root: Path) -> None:
    texts = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for place in ("*.md", "docs/**/*.md", "src/**/*.py")
        for path in root.glob(place)
    }
    wrong = misspelt("\n".join(texts.values()))
    assert {word: [name for name, text in texts.items() if word in text] for word in wrong} == {}


def test_a_misspelt_id_is_found() -> None:
    assert misspelt("`gpu-bussy`, gpu-bus or pgu-busy, and port-helt: see rank-straggler.") == {
        "gpu-bussy",
        "gpu-bus",
        "pgu-busy",
        "port-helt",
    }
    assert misspelt("gpu-busy port-held gpu-model-name") == set()


LONGEST = 100
"""Words of a paragraph: more is a wall of text on a terminal."""


def test_no_id_has_two_pages() -> None:
    having = Counter(name for book in books() for name in book.ids() if book.page(name) is not None)
    assert {name for name, count in having.items() if count != 1} == set() and set(having) == set(known())


@pytest.mark.parametrize("book", books(), ids=lambda book: book.__name__)
def test_pages_have_one_form(book: ModuleType) -> None:
    wrong = []
    for page in filter(None, map(book.page, book.ids())):
        paragraphs = [part for text in page.sections.values() for part in text.split("\n\n")]
        wrong += [(page.id, part[:60]) for part in paragraphs if len(part.split()) > LONGEST]
        wrong += [
            (page.id, name)
            for name, text in page.sections.items()
            if len(text) < 4 or text[-1] not in ".:)`?"
        ]
        wrong += [(page.id, page.title)] if len(page.title) > 150 or "\n" in page.title else []
        assert tuple(page.sections) == HEADINGS
    assert not wrong


GOOD = "A thing." + "".join(f"\n\n## {name}\nx." for name in HEADINGS[1:]) + "\n\nTopic: gpus\n"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (GOOD.replace("gpus", "cars"), "Topic"),
        (GOOD.replace("Topic: gpus", ""), "Topic"),
        (GOOD.replace("## Source\nx.", ""), "nothing under Source"),
        (GOOD.replace("A thing.", ""), "nothing under What it means"),
        (GOOD.replace("## Source", "## Sauce"), "'Sauce' is unknown"),
        (GOOD.replace("## Source", "## What to do"), "there twice"),
        (
            GOOD.replace("## Source", "## Q")
            .replace("## What to do", "## Source")
            .replace("## Q", "## What to do"),
            "order",
        ),
    ],
)
def test_another_form_is_refused(wrong: str, why: str) -> None:
    with pytest.raises(PageError, match=why):
        parse("x", wrong)


def test_a_page_in_a_terminal_is_as_wide_as_asked_and_keeps_code() -> None:
    code = "    a command that is longer than the line that was asked for --with options\n"
    page = parse("x", GOOD.replace("A thing.", "A thing. " + "word " * 40 + "\n\n" + code))
    lines = page.text(50).splitlines()
    assert page.title.startswith("A thing. word")
    assert [line for line in lines if len(line) > 50] == ["  " + code.rstrip()]


def test_the_catalogue_lists_every_id_once_under_its_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == [
        page.id for pages in by_topic().values() for page in pages
    ]
    assert sorted(page.id for pages in by_topic().values() for page in pages) == sorted(known())


def test_explain_takes_several_ids_and_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "gpu-ecc", "port-held", "gpu-ecc"]) == 0
    out = capsys.readouterr().out
    assert out.count("What it means") == 2 and "\033" not in out
    assert cli.main(["explain", "gpu-ecc", "prot-held"]) == 2
    assert "port-held" in capsys.readouterr().err


def test_the_docs_are_what_the_code_says(root: Path) -> None:
    done = subprocess.run([sys.executable, str(root / "scripts" / "make_docs.py"), "--check"], check=False)
    assert done.returncode == 0, "make docs"
