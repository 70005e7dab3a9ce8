"""docs/benchmarks.md as sections, each with its benchmark's name in an HTML comment below the heading."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Ratios against a named peer, measured in one run on one machine. Each section names its command.
"""


def sections(text: str) -> dict[str, str]:
    """The page's sections by the benchmark's name."""
    found = {}
    for part in re.split(r"(?m)^(?=## )", text)[1:]:
        match = re.search(r"<!-- (\w+) -->", part)
        if match:
            found[match[1]] = part.rstrip() + "\n"
    return found


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def section(name: str, title: str, stamp: str, body: str) -> str:
    return f"## {title}\n<!-- {name} -->\n{stamp}\n\n{body.strip()}\n"


def put(new: dict[str, str], page: Path | None = None) -> None:
    """Writes these sections anew, by name; all others stay as they are."""
    path = page or PAGE
    known = sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    known.update(new)
    path.write_text(HEAD + "\n" + "\n".join(known[key] for key in sorted(known)), encoding="utf-8")
