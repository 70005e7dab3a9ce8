"""`python -m benchmarks [NAME …]`: measures, prints, and writes each section of docs/benchmarks.md anew.

A benchmark is a module of this folder with `TITLE` and `measure() -> str` (Markdown). It is found by its
name; a section that was not measured this time stays as it was. NOTE="…" stands above what was measured: the way it
was, where that is not the plain command.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import re
import sys
import time
from pathlib import Path

import benchmarks

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Ratios against a named peer, measured in one run on one machine. Each section names its command.
"""


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if has_measure(m.name))


def has_measure(name: str) -> bool:
    return not name.startswith("_") and "def measure(" in (Path(__file__).parent / f"{name}.py").read_text()


def is_long(name: str) -> bool:
    """Whether it takes hours, and is measured only where it is named."""
    return "\nON_REQUEST = True\n" in (Path(__file__).parent / f"{name}.py").read_text()


def sections(text: str) -> dict[str, str]:
    """The page's sections by the benchmark's name, which stands in an HTML comment below the heading."""
    found = {}
    for part in re.split(r"(?m)^(?=## )", text)[1:]:
        match = re.search(r"<!-- (\w+) -->", part)
        if match:
            found[match[1]] = part.rstrip() + "\n"
    return found


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*names(), []])
    wanted = parser.parse_args().names or [name for name in names() if not is_long(name)]
    known = sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for name in wanted:
        module = importlib.import_module(f"benchmarks.{name}")
        body = module.measure().strip()
        stamp = f"`python -m benchmarks {name}`, {time.strftime('%Y-%m-%d')}, {machine()}."
        note = f"{os.environ['NOTE']}\n\n" if os.environ.get("NOTE") else ""
        known[name] = f"## {module.TITLE}\n<!-- {name} -->\n{stamp}\n\n{note}{body}\n"
        print(known[name])
        PAGE.write_text(HEAD + "\n" + "\n".join(known[key] for key in sorted(known)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
