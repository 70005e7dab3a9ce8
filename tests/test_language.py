"""scripts/language.py finds each habit of docs/contributing/style.md, and leaves good English alone."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "language.py"


@pytest.fixture(scope="module")
def language() -> ModuleType:
    spec = importlib.util.spec_from_file_location("language_linter", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BAD = {
    "is-no": "eight is no number of GPUs.",
    "where": "Where the node has no network, name a folder of wheels.",
    "mend": "Mend the file server.",
    "let-pass": "Fix it, or let it pass.",
    "a-for-per": "The run needs 40 GiB a GPU.",
    "no-more": "The run needs your terminal no more.",
    "of-its-own": "A part runs in a process of its own.",
    "of-ours": "A dead run of ours holds the port.",
    "told": "It is told as node-lost.",
    "who-says": "The kernel log shows who sent it.",
    "stands": "The key stands in the run file.",
    "what": "What it is told is kept in the journal of the run.",
    "want-of": "The kernel ended it for want of memory.",
    "own-words": "It quotes the launcher's own words.",
    "old-word": "The random states are begun anew.",
    "none-of": "The name is none of the run's.",
    "cure": "Cure it there.",
    "verb-no": "A full disk ends no run.",
    "passive": "The node was stopped by allranks.",
    "spelling": "A quantised model is recognised.",
    "not-last": "The other log has it not.",
    "blocks": "1 blocks, 2 warnings.",
    "separator": "It reads 10000 tokens.",
    "long": "word " * 36 + ".",
}
GOOD = (
    "There is no GPU on node-1, and the run no longer needs your terminal.",
    "Where is the run file? What does the node say about it?",
    "The adapter has 97,006,592 parameters; port 29500 is open, and `10000` is code.",
    "The rank is no longer alive, and it was no faster than the others.",
    "If a node has no network, name a folder of wheels: it needs 1.5 GiB per node.",
)


def of_text(language: ModuleType, text: str) -> set[str]:
    return {hit.habit for hit in language.hits(language.Text("docs/x.md", 1, text))}


@pytest.mark.parametrize("habit", BAD)
def test_each_habit_is_found(language: ModuleType, habit: str) -> None:
    assert habit in of_text(language, BAD[habit])


def test_every_habit_has_an_example(language: ModuleType) -> None:
    assert set(BAD) == set(language.HABITS) | {"long"}


@pytest.mark.parametrize("text", GOOD)
def test_good_english_is_left_alone(language: ModuleType, text: str) -> None:
    assert not of_text(language, text)


def test_it_reads_texts_of_a_module_and_neither_comments_nor_patterns(
    language: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "ROOT", tmp_path)
    path = tmp_path / "x.py"
    path.write_text(
        '"""Nobody said this is no page."""\nimport re\n# this is no text\n'
        'SAID = f"{re} is no number of GPUs"\nLINE = re.compile("this is no text of ours")\n'
        'KEPT = "this is no text either"  # language: allow\n'
    )
    found = [hit for text in language.python(path) for hit in language.hits(text)]
    assert [(hit.line, hit.habit) for hit in found] == [(4, "is-no")]


def test_docstrings_and_comments_count_apart(
    language: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "ROOT", tmp_path)
    path = tmp_path / "src" / "allranks" / "core" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        '"""One line of ours."""\n# This is no\n# page.\nX = 1  # noqa: this is no page\n'
        'def f():\n    """Mend it."""\n    return "a fault of ours"\n'
    )
    found = [hit for text in language.comments(path) for hit in language.hits(text)]
    assert sorted((hit.line, hit.habit, hit.room) for hit in found) == [
        (1, "of-ours", "code of core"),
        (2, "is-no", "code of core"),
        (6, "mend", "code of core"),
    ]


def test_the_baseline_only_falls(
    language: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = tmp_path / "baseline.json"
    monkeypatch.setattr(language, "BASELINE", baseline)
    monkeypatch.setattr(sys, "argv", ["language.py", "--write"])
    hit = language.Hit("docs/x.md", 1, "mend", "mend it")
    monkeypatch.setattr(language, "all_hits", lambda: [hit])
    baseline.write_text('{"docs": 3}')
    assert language.main() == 0 and json.loads(baseline.read_text()) == {"docs": 1}
    monkeypatch.setattr(language, "all_hits", lambda: [hit, hit])
    assert language.main() == 1 and json.loads(baseline.read_text()) == {"docs": 1}
