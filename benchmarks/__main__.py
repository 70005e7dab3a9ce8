"""`python -m benchmarks [NAME …]`: measures, prints, and writes each section of docs/benchmarks.md anew.

A benchmark is a module of this folder with `TITLE` and `measure() -> str` (Markdown). It is found by its
name; a section that was not measured this time stays as it was. NOTE="…" stands above what was measured: the way it
was, where that is not the plain command. `python -m benchmarks gpu` is the pack for a machine with a GPU (docs/gpu.md).
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks
from benchmarks import _page


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if has_measure(m.name))


def has_measure(name: str) -> bool:
    return not name.startswith("_") and "def measure(" in (Path(__file__).parent / f"{name}.py").read_text()


def is_long(name: str) -> bool:
    """Whether it takes hours, and is measured only where it is named."""
    return "\nON_REQUEST = True\n" in (Path(__file__).parent / f"{name}.py").read_text()


def main() -> int:
    if sys.argv[1:2] == ["gpu"]:
        from benchmarks._gpu.command import main as gpu

        return gpu(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*names(), []])
    wanted = parser.parse_args().names or [name for name in names() if not is_long(name)]
    for name in wanted:
        module = importlib.import_module(f"benchmarks.{name}")
        body = module.measure().strip()
        stamp = f"`python -m benchmarks {name}`, {time.strftime('%Y-%m-%d')}, {_page.machine()}."
        note = f"{os.environ['NOTE']}\n\n" if os.environ.get("NOTE") else ""
        written = _page.section(name, module.TITLE, stamp, f"{note}{body}")
        print(written)
        _page.put({name: written})
    return 0


if __name__ == "__main__":
    sys.exit(main())
