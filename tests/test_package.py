"""What a package index gets: a README whose links work there, and a wheel that holds what the package needs."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts import package

ROOT = Path(__file__).resolve().parents[1]
BASE = "https://code.example/me/allranks"


def test_every_link_of_the_readme_becomes_absolute() -> None:
    text = package.absolute((ROOT / "README.md").read_text("utf-8"), BASE)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20 and all(link.startswith("https://") for link in links)
    assert f"![A run of three ranks in the terminal]({BASE}/raw/main/docs/picture.svg)" in text
    assert f"]({BASE}/tree/main/docs/decisions)" in text and f"]({BASE}/blob/main/docs/runs.md)" in text


def test_what_is_absolute_or_on_the_page_itself_stays() -> None:
    text = "[a](https://x.y/z) [b](#here) [c](mailto:a@b.c)"
    assert package.absolute(text, BASE) == text


@pytest.mark.lengthy
def test_the_wheel_has_the_man_page_the_live_page_and_the_links(tmp_path: Path) -> None:
    source, wheel = sorted(package.build(BASE, tmp_path), key=lambda path: path.suffix)
    assert (source.suffix, wheel.suffix) == (".gz", ".whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.endswith("/METADATA"))
        text = archive.read(about).decode()
    assert any(name.endswith("share/man/man1/allranks.1") for name in names)
    assert any(name.endswith(".js") and "live_page" in name for name in names)
    assert f"Project-URL: Source, {BASE}\n" in text and "](docs/" not in text
    assert "License-Expression: MIT" in text and "Classifier: Typing :: Typed" in text
    with tarfile.open(source) as archive:
        assert any(name.endswith("docs/allranks.1") for name in archive.getnames())
