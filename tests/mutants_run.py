"""Runs the tests of a copy of the repository with each of many changes: `tests/mutants.py` starts it there.

It runs all tests once without a change, and notes which functions each one calls. For each change it then forks: the
child has pytest and all libraries, imports our own modules anew, and runs the tests that call what was changed.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings

OURS = ("allranks", "tests", "benchmarks")
OPTIONS = (
    "-q",
    "-m",
    "fast or measured",
    "-p",
    "no:cacheprovider",
    "--assert=plain",
    "--tb=no",
    "--hypothesis-profile=mutants",
)
LIMIT = 60.0
"""Seconds that a change may take beyond ten times what its tests take without one."""

Place = tuple[str, int]
"""A file, and the first line of a function in it; 0 for what importing the file runs."""


class Calls:
    """A plugin of pytest that notes what each test calls, what it calls before the tests, and how each one ends."""

    def __init__(self, folder: Path):
        self.source = f"{folder}/src/"
        self.seen: set[CodeType] = set()
        self.of_fixture: dict[Any, set[CodeType]] = {}
        self.collected: set[Place] = set()
        self.by_test: dict[str, set[Place]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        self.seen.add(frame.f_code)

    def places(self, codes: set[CodeType]) -> set[Place]:
        start = len(self.source) - len("src/")
        return {
            (code.co_filename[start:], code.co_firstlineno)
            for code in codes
            if code.co_filename.startswith(self.source)
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Any:
        with self:
            result = yield
        self.collected = self.places(self.seen)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a fixture calls belongs to each test that uses it, and not only to the first."""
        before, self.seen = self.seen, set()
        try:
            return (yield)
        finally:
            self.of_fixture[fixturedef] = self.seen
            self.seen = before | self.seen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        begun = time.monotonic()
        with self:
            result = yield
        self.seconds[item.nodeid] = time.monotonic() - begun
        fixtures = [one for found in item._fixtureinfo.name2fixturedefs.values() for one in found]
        used = self.seen.union(*(self.of_fixture.get(one, ()) for one in fixtures))
        self.by_test[item.nodeid] = self.places(used)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def __enter__(self) -> None:
        self.seen = set()
        sys.settrace(self.note)
        threading.settrace(self.note)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(cast(Any, None))


class Chosen:
    """A plugin that leaves these tests, the quickest files first, and those that a change gave another name."""

    def __init__(self, names: set[str], seconds: dict[str, float]):
        self.names, self.seconds = names, seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left = [one for one in items if one.nodeid in self.names or one.nodeid not in self.seconds]
        of_file: dict[str, float] = {}
        for one in left:
            file = one.nodeid.partition("::")[0]
            of_file[file] = of_file.get(file, 0.0) + self.seconds.get(one.nodeid, 1.0)
        items[:] = sorted(left, key=lambda one: of_file[one.nodeid.partition("::")[0]])


def function_at(text: str, line: int) -> int:
    """The first line of the function that a line is in, as its code object has it. 0: importing the file runs it,
    or its value is kept."""
    found, first = None, 0
    for node in ast.walk(ast.parse(text)):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.body[0].lineno <= line <= (node.end_lineno or 0) and node.lineno >= first:
            found, first = node, node.lineno
    if found is None or any("cache" in ast.unparse(one) for one in found.decorator_list):
        return 0
    return min(first, *(one.lineno for one in found.decorator_list)) if found.decorator_list else first


def asked_for(calls: Calls, file: str, first: int, importing: list[str]) -> set[str]:
    """The tests that call a function; of what importing the file runs, those that call into it or its importers."""
    if first and (file, first) not in calls.collected:
        found = {name for name, places in calls.by_test.items() if (file, first) in places}
    else:
        files = {file, *importing}
        found = {name for name, places in calls.by_test.items() if any(one in files for one, _ in places)}
    return found - calls.failed


def end(path: Path, text: str, names: set[str], calls: Calls, seed: int) -> str:
    """How the tests end with a change of a file."""
    if not names:
        return "survived"
    before, times = path.read_bytes(), path.stat()
    path.write_text(text)
    seconds = LIMIT + 10 * sum(calls.seconds[name] for name in names)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            sys.dont_write_bytecode = True
            files = sorted({name.partition("::")[0] for name in names})
            options = [*OPTIONS, "-x", f"--hypothesis-seed={seed}", f"--basetemp={Path.cwd() / 'temporary'}"]
            code = int(pytest.main([*options, *files], plugins=[Chosen(names, calls.seconds)]))
        finally:
            os._exit(code)
    until, ended = time.monotonic() + seconds, (0, 0)
    while not ended[0] and time.monotonic() < until:
        time.sleep(0.01)
        ended = os.waitpid(pid, os.WNOHANG)
    if not ended[0]:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    path.write_bytes(before)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if not ended[0]:
        return "timed out"
    # 5: no test was chosen. All else but 0 is a failure: a module that cannot be imported any more, too.
    return "survived" if os.waitstatus_to_exitcode(ended[1]) in (0, 5) else "killed"


def main() -> int:
    asked, answer, folder = json.load(sys.stdin), os.fdopen(os.dup(1), "w"), Path.cwd()
    with Path("out.txt").open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    # A failure is enough: nobody reads the smallest example of it.
    phases = (Phase.explicit, Phase.generate)
    quiet = (HealthCheck.too_slow,)
    settings.register_profile(
        "mutants", deadline=None, suppress_health_check=quiet, phases=phases, database=None
    )
    calls, every = Calls(folder), sorted({name for names in asked["tests"].values() for name in names})
    pytest.main([*OPTIONS, f"--hypothesis-seed={asked['seed']}", *every], plugins=[calls])
    for name in calls.failed:
        print(f"left out, since it fails without a change: {name}", flush=True)
    for number, one in enumerate(asked["work"]):
        for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
            del sys.modules[name]
        file, path = one["file"], folder / one["file"]
        first = function_at(path.read_text(), one["line"])
        found = asked_for(calls, file, first, asked["importers"][file])
        names = {name for name in found if name.startswith(tuple(asked["tests"][file]))}
        answer.write(json.dumps([number, end(path, one["text"], names, calls, asked["seed"])]) + "\n")
        answer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
