"""The documentation site and the man page: built as a reader gets them, and strict about every link."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPHINX = ROOT / ".venvs" / "docs" / "bin" / "sphinx-build"


class Fetched(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.found += [told["src"] or ""] if "src" in told else []
        elif tag == "link":
            self.found.append(told.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert SPHINX.exists(), "make docs makes the generator's environment"
    out = tmp_path_factory.mktemp("site")
    words = [str(SPHINX), "-q", "-W", "--keep-going", "-b", "html", "-d", str(out / "trees")]
    done = subprocess.run(
        [*words, str(ROOT / "docs"), str(out / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.lengthy
def test_every_page_of_the_docs_is_on_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 30
    assert [str(page) for page in pages if not (site / page).is_file()] == []


@pytest.mark.lengthy
def test_a_page_fetches_nothing_from_elsewhere(site: Path) -> None:
    fetched = {one for page in site.rglob("*.html") for one in Fetched(page.read_text("utf-8")).found}
    assert fetched and [one for one in fetched if "//" in one] == []


def markdown_links(text: str) -> Iterator[str]:
    for match in re.finditer(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        yield match[1]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_the_links_of_a_project_file_lead_somewhere(name: str) -> None:
    links = [link.partition("#")[0] for link in markdown_links((ROOT / name).read_text("utf-8"))]
    assert [link for link in links if link and "://" not in link and not (ROOT / link).exists()] == []


@pytest.mark.lengthy
def test_man_reads_the_man_page_without_a_warning() -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", "-rLL=100n", str(ROOT / "docs" / "allranks.1")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "--exclude-unready" in text and "EXIT STATUS" in text
