"""The live page of a large run in Chromium: its first draw, its pauses, and what the server costs.

    python -m benchmarks ui

The run is synthetic (`_ui_run.py`); this process plays its keeper and goes on writing its journal. All else is real:
the verb `ui`, the node program that follows the journal, and Debian's chromium, headless.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from benchmarks import keeper_cpu
from benchmarks._ui_run import Shape, SyntheticRun, children, cpu_seconds
from tests.harness.browser import Browser, Page

TITLE = "The live page of a run of 1,000 ranks and 10,000 steps"
LARGE = Shape(ranks=1000, steps=int(os.environ.get("STEPS") or 10_000), beat=2.0, step=0.2)
SMALL = Shape(ranks=24, steps=2_000, beat=1.0, step=0.2)
DRAWS = 5
WATCHED_SECONDS = float(os.environ.get("SECONDS") or 30.0)
COST_SECONDS = 2 * WATCHED_SECONDS

READY = "document.documentElement.getAttribute('data-ready')"
CAUGHT_UP = "Number(document.querySelector('.figures dd span')?.innerText.replace(',', '')) >= {}"
OBSERVE = """(() => { window.pauses = []; window.gaps = []; let before = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => window.pauses.push(one.duration)))
.observe({type: 'longtask'});
const frame = (at) => { if (before) window.gaps.push(at - before); before = at; requestAnimationFrame(frame) };
requestAnimationFrame(frame) })()"""


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="bench-ui-") as folder:
        os.environ["ALLRANKS_HOME"] = str(Path(folder) / "home")
        try:
            return "\n".join([*large(Path(folder)), "", *small(), "", *noticed(), "", AIMS])
        finally:
            del os.environ["ALLRANKS_HOME"]


AIMS = (
    "Aims: first draw ≤ 2 s, no pause that one sees (100 ms), ≤ 1 % of a core for 24 ranks; "
    "the keeper notices nothing."
)


@contextmanager
def serving(run: SyntheticRun | SimpleNamespace) -> Iterator[tuple[int, str]]:
    """(pid of the server, the page's address) of a run that goes on."""
    command = [sys.executable, "-m", "allranks.cli", "ui", run.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            yield process.pid, f"{address}#/run/{run.id}"
        finally:
            process.terminate()
            run.stop()


def large(folder: Path) -> list[str]:
    run = SyntheticRun("large-1123-ui", LARGE)
    size = run.create()
    with serving(run) as (pid, address), Browser(folder) as browser:
        page = browser.page()
        page.open(address)
        page.until(READY, 60)
        began, spent = time.monotonic(), cpu_seconds(pid)
        page.until(CAUGHT_UP.format(LARGE.steps), 900)
        read, spent = time.monotonic() - began, cpu_seconds(pid) - spent
        page.close()
        run.start()
        draws, sizes = zip(*(drawn(browser, address) for _ in range(DRAWS)), strict=True)
        page = browser.page()
        page.open(address)
        page.until(READY, 60)
        time.sleep(3)
        page.look(OBSERVE)
        spent_then = cpu_seconds(pid)
        time.sleep(WATCHED_SECONDS)
        share = (cpu_seconds(pid) - spent_then) / WATCHED_SECONDS
        pauses, gaps = page.look("[window.pauses, window.gaps]")
        assert page.complaints() == []
    late = sorted(gaps)
    return [
        f"{LARGE.ranks:,} ranks × {LARGE.steps:,} steps, a journal of {size / 1e6:,.0f} MB:",
        "",
        f"- first draw (median of {DRAWS}, from the address to the frame after all curves and cells are drawn): "
        f"**{statistics.median(draws):.2f} s**, slowest {max(draws):.2f} s; "
        f"{statistics.median(sizes) / 1e6:.1f} MB of JSON",
        f"- the server reads such a journal once, after its start: {read:.0f} s ({spent:.0f} s of a core); "
        "the page shows what is read so far",
        f"- updates once a second for {WATCHED_SECONDS:.0f} s: {len(pauses)} tasks above 50 ms, the "
        f"longest **{max(pauses, default=0):.0f} ms**; 99 % of {len(gaps):,} frames within "
        f"{late[int(0.99 * len(late))]:.0f} ms, the longest {late[-1]:.0f} ms; the server takes {share:.1%} of a core "
        "for it",
    ]  # fmt: skip


def drawn(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds to the first draw of a new tab, and the bytes of its first message."""
    page: Page = browser.page()
    page.open(address)
    page.until(f"{READY} && document.querySelectorAll('.u-over').length === 5", 60)
    seconds = float(page.look(READY)) / 1000
    cells = page.look("document.querySelectorAll('.cell[data-place]').length")
    assert cells == LARGE.ranks, cells
    size = page.look("Number(document.documentElement.getAttribute('data-first-bytes'))")
    page.close()
    return seconds, size


def small() -> list[str]:
    run = SyntheticRun("small-1123-ui", SMALL)
    run.create()
    run.start()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(run) as (pid, address),
        Browser(Path(folder)) as browser,
    ):
        page = browser.page()
        page.open(address)
        page.until(CAUGHT_UP.format(SMALL.steps), 60)
        time.sleep(3)
        followers = children(pid)
        spent, follows, began = cpu_seconds(pid), sum(map(cpu_seconds, followers)), time.monotonic()
        time.sleep(COST_SECONDS)
        seconds = time.monotonic() - began
        spent, follows = cpu_seconds(pid) - spent, sum(map(cpu_seconds, followers)) - follows
    return [
        f"{SMALL.ranks} ranks, one page open, {COST_SECONDS:.0f} s: the server takes **{spent / seconds:.2%}** of a "
        f"core; the node program that follows the journal on the head, as for `allranks watch`, "
        f"{follows / seconds:.2%}.",
    ]


@contextmanager
def page_of(home: str) -> Iterator[None]:
    """One page open on the keeper's run, drawn and following."""
    before = os.environ.get("ALLRANKS_HOME")
    os.environ["ALLRANKS_HOME"] = home
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(SimpleNamespace(id=keeper_cpu.RUN, stop=lambda: None)) as (_, address),
            Browser(Path(folder)) as browser,
        ):
            page = browser.page()
            page.open(address)
            page.until(CAUGHT_UP.format(1), 60)
            yield
    finally:
        if before is None:
            del os.environ["ALLRANKS_HOME"]
        else:
            os.environ["ALLRANKS_HOME"] = before


def noticed() -> list[str]:
    """A real keeper of 24 ranks, without a page and with one."""
    (shape, *_) = keeper_cpu.SHAPES.values()
    without, beside = keeper_cpu.cost(shape), keeper_cpu.cost(shape, page_of)
    return [
        f"A real keeper of 24 ranks takes {without['share']:.2%} of a core without a page and "
        f"**{beside['share']:.2%}** with one open; 99 % of its beats are in the journal within {without['late']:.2f} s "
        f"and {beside['late']:.2f} s."
    ]
