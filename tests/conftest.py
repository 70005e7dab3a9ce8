"""What every test shares: a home of its own, and proof that nothing of it is left."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from allranks.core import extensions
from tests import measured
from tests.plan import shared
from tests.tiers import SELDOM, SLOW, tier_of

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Each worker has a rig of its own: tests.rig.rig reads the variable when it is imported."""

if WORKER and not os.environ.get("ALLRANKS_RIG", "").endswith(f"-{WORKER}"):
    os.environ["ALLRANKS_RIG"] = f"{os.environ.get('ALLRANKS_RIG', '/run/allranks-rig')}-{WORKER}"

# How long an example takes says how busy the machine is, and nothing about the code.
# So few examples: every change pays for them. They are the same in each run, so that no change fails by chance;
# ALLRANKS_DRAW, which `make test-all` sets, draws others.
settings.register_profile(
    "allranks",
    deadline=None,
    max_examples=50,
    derandomize=not os.environ.get("ALLRANKS_DRAW"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("allranks")

ROOT = Path(__file__).resolve().parent.parent

# What a test starts by hand compiles where the ranks of a run do, and nothing in the user's ~/.cache.
os.environ.setdefault("TORCH_EXTENSIONS_DIR", extensions.folder(str(ROOT / ".cache")) or str(ROOT / ".cache"))
# No test asks the Hugging Face Hub: a test of that has a server of its own on the loopback interface.
os.environ["HF_HUB_OFFLINE"] = "1"
OTHERS = re.compile(rf"^pytestmark = .*\bpytest\.mark\.({'|'.join((*SLOW, SELDOM))})\b", re.MULTILINE)
NEEDS = {
    "browser": (lambda: shutil.which("chromium") is not None, "chromium is not installed"),
    "rig": (lambda: os.geteuid() == 0, "only root can make network namespaces"),
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m fast` does not import a file that is of another tier as a whole: torch alone takes two seconds a worker."""
    wanted = config.option.markexpr.split(" or ")
    if wanted[0] == "fast" and collection_path.name.startswith("test_"):
        other = OTHERS.search(collection_path.read_text())
        return True if other and other[1] not in wanted else None
    return None


# Most of the heap is tests and modules, which stay until the end: looking through them again and again would cost a
# tenth of the fast tier's time.
YOUNG = 20_000
"""Objects that may come before the collector looks at the young ones."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(YOUNG, 10, 10)
    return result


PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)
RERUNS = 2
"""So many tests of a suite may pass at a second try in CI; see docs/decisions/second-try.md."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test carries its tier's mark, for `-m`. In CI one that failed is tried once more, and both are told; at a
    desk a failure is one at once."""
    slow = measured.listed()
    for item in items:
        if measured.function_of(item.nodeid) in slow:
            item.add_marker("measured")
        item.add_marker(tier_of({mark.name for mark in item.iter_markers()}))
        if os.environ.get("CI"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def tried_twice(reporter: Any) -> dict[str, pytest.TestReport]:
    """The first try of each test that had a second one, by its name."""
    return {report.nodeid: report for report in reporter.stats.get("rerun", ())}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, report in tried_twice(terminalreporter).items():
        terminalreporter.section(f"RERUN {name}")
        terminalreporter.write_line(report.longreprtext)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session):
    """Too many second tries are a failure of the suite."""
    gc.freeze()  # pytest looks five times for what was never closed: not among what the tests' modules hold
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    again = tried_twice(reporter) if reporter else {}
    if len(again) > RERUNS and session.exitstatus == pytest.ExitCode.OK:
        reporter.section(f"{len(again)} tests were tried twice, and {RERUNS} may be")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A missing program skips a test at a desk and fails it in CI, where a skipped test is a missing feature."""
    for marker, (there, reason) in NEEDS.items():
        if item.get_closest_marker(marker) and not there():
            if os.environ.get("CI"):
                pytest.fail(f"{marker}: {reason}", pytrace=False)
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item):
    """A test that lowers the priority of this process slows down all tests after it: ten times on a busy machine."""
    result = yield
    if os.getpriority(os.PRIO_PROCESS, 0) != PRIORITY:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        pytest.fail(f"{item.nodeid} changed the priority of the tests' own process", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """The same for a test that skips itself: in CI nothing that needs an engine may pass unseen."""
    report = yield
    marked = any(item.get_closest_marker(name) for name in ("training", "legacy", *NEEDS))
    if os.environ.get("CI") and marked and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which in CI is a failure: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def _plans_share_what_takes_long():
    with pytest.MonkeyPatch.context() as patch:
        shared.sharing(patch)
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private `~/.allranks` for one test."""
    path = tmp_path / "allranks-home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("ALLRANKS_HOME", str(path))
    return path


@pytest.fixture(scope="session")
def another_python() -> Callable[[str], str]:
    """Finds a Python of a version, as "3.8": on PATH, or one of pyenv's, whose shims need not start."""

    def find(version: str) -> str:
        places = [
            *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
            shutil.which(f"python{version}"),
        ]
        for place in places:
            if place and subprocess.run([place, "-c", ""], capture_output=True, timeout=60).returncode == 0:
                return str(place)
        pytest.skip(f"there is no Python {version}")

    return find


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
