"""The 40 slowest tests and the slowest files of a run: `python -m tests.slowest build/tests/*.xml`.

pytest writes the XML (JUnit's); a test's seconds are those of its set-up, its call and its end.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

TESTS, FILES = 40, 15


def durations(paths: Iterable[Path]) -> list[tuple[float, str, str]]:
    """(seconds, file, test), the slowest first. A file that is not there is one whose tests did not run."""
    found = []
    for path in paths:
        if not path.is_file():
            continue
        for case in ElementTree.parse(path).iter("testcase"):
            file = case.get("classname", "").replace(".", "/") + ".py"
            found.append((float(case.get("time", 0)), file, case.get("name", "")))
    return sorted(found, reverse=True)


def table(found: list[tuple[float, str, str]]) -> str:
    files: Counter[str] = Counter()
    for seconds, file, _ in found:
        files[file] += seconds
    lines = [f"the {TESTS} slowest of {len(found)} tests, in seconds:"]
    lines += [f"{seconds:8.1f}  {file}::{name}" for seconds, file, name in found[:TESTS]]
    lines += [f"the {FILES} slowest files:"]
    lines += [f"{seconds:8.1f}  {file}" for file, seconds in files.most_common(FILES)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(durations(map(Path, sys.argv[1:]))))
