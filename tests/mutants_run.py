"""Runs the tests of a copy of the repository with each of many changes: `tests/mutants.py` starts it there.

It runs some test files once without a change, and notes which watched lines each test runs and which files it calls
into. Then, for each change it is given, it forks: the child has pytest and all libraries, imports our own modules anew,
and runs the tests it was told, a few files first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings

OURS = ("allranks", "tests", "benchmarks")
OPTIONS = (
    "-q",
    "-m",
    "fast or measured or tensors",
    "-p",
    "no:cacheprovider",
    "--assert=plain",
    "--tb=no",
    "--hypothesis-profile=mutants",
)
LIMIT = 20.0
"""Seconds of a processor that a change may take beyond three times what its tests take while they are traced."""

PATIENCE = 6
"""So many times longer it may take by the clock: others use the processors too, and a test may wait for nothing."""

STAGES = (2, 8)
"""After so many files pytest begins anew: most changes are noticed by the first, and collecting all takes longer."""

Spans = dict[str, list[list[int]]]
"""Of each file, the first and last line of each statement that is watched."""

Lines = set[tuple[str, int]]


@dataclass
class Seen:
    """What a test ran: the first line of each watched statement, and the files that it called into."""

    lines: Lines = field(default_factory=set)
    files: set[str] = field(default_factory=set)


class Calls:
    """A plugin of pytest that notes what each test runs, what runs before the tests, and how each test ends."""

    def __init__(self, folder: Path, watched: Spans):
        self.source, self.start = f"{folder}/src/", len(f"{folder}/")
        self.watched = watched
        self.codes: dict[int, CodeType] = {}
        self.spans: dict[int, dict[int, int]] = {}
        """Of each code, by its id since its hash takes long: each watched line, with its statement's first."""
        self.local: dict[int, Callable[[FrameType, str, object], Any] | None] = {}
        """What follows the lines of each code; None if none of them is watched."""
        self.seen: set[int] = set()
        self.lines: Lines = set()
        self.of_fixture: dict[Any, tuple[set[int], Lines]] = {}
        self.collected = Seen()
        self.by_test: dict[str, Seen] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def note(self, frame: FrameType, event: str, argument: object) -> Any:
        """Each call of all tests comes here: most are of a code that this test has called before."""
        number = id(frame.f_code)
        if number not in self.seen:
            self.seen.add(number)
            if number not in self.local:
                self.enter(number, frame.f_code)
        local = self.local[number]
        # A lambda or a comprehension may begin on its only line without a line event.
        return local and local(frame, "line", None)

    def enter(self, number: int, code: CodeType) -> None:
        self.codes[number] = code
        spans = self.watched_of(code)
        if spans:
            self.spans[number] = spans
        self.local[number] = self.line if spans else None

    def line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            code = frame.f_code
            first = self.spans[id(code)].get(frame.f_lineno)
            if first is not None:
                self.lines.add((code.co_filename[self.start :], first))
        return self.line

    def watched_of(self, code: CodeType) -> dict[int, int]:
        if not code.co_filename.startswith(self.source):
            return {}
        own = {line for *_, line in code.co_lines() if line is not None}
        spans = self.watched.get(code.co_filename[self.start :], ())
        return {line: first for first, last in spans for line in range(first, last + 1) if line in own}

    def told(self, seen: Collection[int], lines: Lines) -> Seen:
        names = {self.codes[number].co_filename for number in seen}
        return Seen(lines, {name[self.start :] for name in names if name.startswith(self.source)})

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Any:
        with self:
            result = yield
        self.collected = self.told(self.seen, self.lines)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a fixture runs belongs to each test that uses it, and not only to the first."""
        before, self.seen, self.lines = (self.seen, self.lines), set(), set()
        try:
            return (yield)
        finally:
            self.of_fixture[fixturedef] = self.seen, self.lines
            self.seen, self.lines = before[0] | self.seen, before[1] | self.lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        begun = sum(os.times()[:4])
        with self:
            result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - begun
        fixtures = [one for found in item._fixtureinfo.name2fixturedefs.values() for one in found]
        used = [
            (self.seen, self.lines),
            *(self.of_fixture[one] for one in fixtures if one in self.of_fixture),
        ]
        seen = set[int]().union(*(one for one, _ in used))
        self.by_test[item.nodeid] = self.told(seen, Lines().union(*(lines for _, lines in used)))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def __enter__(self) -> None:
        self.seen, self.lines = set(), set()
        sys.settrace(self.note)
        threading.settrace(self.note)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(cast(Any, None))

    def answer(self) -> dict[str, Any]:
        """What `tests/mutants.py` reads, in JSON."""
        listed = {name: vars_of(seen) for name, seen in self.by_test.items() if name not in self.failed}
        others = sorted(name for name in sys.modules if name.partition(".")[0] not in OURS)
        collected = vars_of(self.collected)
        return {"tests": listed, "seconds": self.seconds, "collected": collected, "modules": others}


def vars_of(seen: Seen) -> dict[str, list[Any]]:
    return {name: sorted(value) for name, value in dataclasses.asdict(seen).items()}


class Chosen:
    """A plugin that leaves these tests, and those that a change gave another name, in the order of their files."""

    def __init__(self, asked: dict[str, Any], known: Collection[str], files: list[str]):
        self.names, self.known = set(asked["names"]), known
        self.places = {name: place for place, name in enumerate(files)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left = [one for one in items if one.nodeid in self.names or one.nodeid not in self.known]
        items[:] = sorted(left, key=lambda one: self.places.get(one.nodeid.partition("::")[0], 0))


def staged(files: list[str]) -> list[list[str]]:
    """The files, the first ones apart."""
    ends = [*(end for end in STAGES if end < len(files)), len(files)]
    return [files[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def run(asked: dict[str, Any], known: Collection[str]) -> int:
    """0 if no test fails. 5: no test was chosen. All else is a failure: a module that cannot be imported, too."""
    for files in staged(asked["tests"]):
        options = [
            *OPTIONS,
            "-x",
            f"--hypothesis-seed={asked['seed']}",
            f"--basetemp={Path.cwd() / 'temporary'}",
        ]
        code = int(pytest.main([*options, *files], plugins=[Chosen(asked, known, files)]))
        if code not in (0, 5):
            return code
    return 0


def used(session: int) -> float:
    """Seconds of a processor that the processes of a session used, with those that they waited for."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            total += sum(int(word) for word in words[11:15]) if int(words[3]) == session else 0
    return total / os.sysconf("SC_CLK_TCK")


def end(asked: dict[str, Any], known: Collection[str], path: Path) -> str:
    """How the tests end with a change of a file."""
    before, times = path.read_bytes(), path.stat()
    path.write_text(asked["text"])
    # Compiled files are known by their source's size and second.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**10))
    allowed = LIMIT + 3 * asked["seconds"]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            sys.dont_write_bytecode = True
            code = run(asked, known)
        finally:
            os._exit(code)
    begun = looked = time.monotonic()
    ended, over = (0, 0), False
    while not ended[0] and not over:
        time.sleep(0.02)
        ended = os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > looked + 2:
            looked = time.monotonic()
            over = looked > begun + PATIENCE * allowed or used(pid) > allowed
    if not ended[0]:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    path.write_bytes(before)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if not ended[0]:
        return "timed out"
    return "survived" if os.waitstatus_to_exitcode(ended[1]) == 0 else "killed"


def main() -> int:
    """One line of JSON in, one out: the test files and what to watch, and then each change."""
    answer, folder = os.fdopen(os.dup(1), "w"), Path.cwd()
    with Path("out.txt").open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    # A failure is enough: nobody reads the smallest example of it.
    phases = (Phase.explicit, Phase.generate)
    quiet = (HealthCheck.too_slow,)
    settings.register_profile(
        "mutants", deadline=None, suppress_health_check=quiet, phases=phases, database=None
    )

    def tell(value: object) -> None:
        answer.write(json.dumps(value) + "\n")
        answer.flush()

    first = json.loads(sys.stdin.readline())
    calls = Calls(folder, first["watched"])
    if first["tests"]:
        pytest.main([*OPTIONS, f"--hypothesis-seed={first['seed']}", *first["tests"]], plugins=[calls])
    for name in calls.failed:
        print(f"left out, since it fails without a change: {name}", flush=True)
    tell(calls.answer())
    second = json.loads(sys.stdin.readline())
    for name in second["modules"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
        del sys.modules[name]
    known = set(second["known"])
    for line in sys.stdin:
        asked = json.loads(line)
        tell(end(asked, known, folder / asked["file"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
