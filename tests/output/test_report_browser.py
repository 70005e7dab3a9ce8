"""The report in a real browser: Debian's chromium, headless. What is not drawn there is not in the report."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from allranks.output import report

pytestmark = pytest.mark.browser

QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr"""


def chromium(profile: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """One run of the browser with a profile of its own."""
    return subprocess.run(
        ["chromium", *QUIET.split(), f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )


@pytest.fixture
def written(run_directory, tmp_path):
    def of(kind: str) -> Path:
        target = tmp_path / f"{kind}.html"
        target.write_text(report.render(report.collect(str(run_directory(kind)))), encoding="utf-8")
        return target

    return of


@pytest.mark.parametrize(
    ("kind", "charts"), [("healthy", 6), ("large", 11), ("diverged", 6), ("before-start", 0)]
)
def test_each_chart_is_drawn(written, tmp_path, kind, charts):
    done = chromium(tmp_path / "profile", written(kind), "--window-size=1200,900", "--dump-dom")
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == [], "no error and no violation of the policy"
    assert 'data-ready="1"' in done.stdout, "the script ran under the policy"
    drawn = re.findall(r'data-drawn="(\d+)x(\d+)" data-ink="(\d+)x(\d+)"', done.stdout)
    assert len(drawn) == charts
    for width, height, ink_width, ink_height in (map(int, sizes) for sizes in drawn):
        assert width > 300 and height > 100
        assert ink_width > 500 and ink_height > 20, "lines are drawn, not only their frame"


def framed(written: Path, tmp_path: Path, look: str, *options: str) -> str:
    """What `look` (JavaScript; `page` is the report's window) says of the report in a frame of a phone's size.

    The report's own policy forbids any script but its own, so a page around it does the looking.
    """
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe width="360" height="640" src="{written.as_uri()}"></iframe><script>onload = () => {{'
        f"const page = document.querySelector('iframe').contentWindow; document.title = {look} }}</script>"
    )
    done = chromium(tmp_path / "profile", frame, "--allow-file-access-from-files", "--dump-dom", *options)
    found = re.findall("(?s)<title>(.*?)</title>", done.stdout)
    assert found, done.stderr
    return " ".join(found[0].split())


@pytest.mark.parametrize(("scheme", "paper"), [("1", "rgb(252, 251, 248)"), ("0", "rgb(21, 23, 27)")])
def test_light_and_dark(written, tmp_path, scheme, paper):
    look = "page.getComputedStyle(page.document.body).backgroundColor"
    assert (
        framed(written("killed"), tmp_path, look, f"--blink-settings=preferredColorScheme={scheme}") == paper
    )


@pytest.mark.parametrize("kind", ["large", "killed", "before-start"])
def test_a_phone_does_not_scroll_sideways(written, tmp_path, kind):
    look = "page.document.documentElement.scrollWidth + ' of ' + page.innerWidth"
    assert framed(written(kind), tmp_path, look) == "360 of 360"


def test_values_show_under_the_pointer_and_by_key(written, tmp_path):
    """The fifth step's loss, by the arrow keys; the first one's, by the pointer at the left edge."""
    look = """(() => {
        const plot = page.document.querySelector('#chart-loss .plot'), said = [];
        const tip = plot.querySelector('output'), box = plot.getBoundingClientRect();
        plot.dispatchEvent(new page.PointerEvent('pointermove', {clientX: box.left + 1}));
        said.push(tip.textContent);
        for (let i = 0; i < 4; i++) plot.dispatchEvent(new page.KeyboardEvent('keydown', {key: 'ArrowRight'}));
        said.push(tip.textContent, getComputedStyle(tip).display);
        plot.dispatchEvent(new page.PointerEvent('pointerleave'));
        return said.join('; ') + '; ' + getComputedStyle(tip).display;
    })()"""
    said = framed(written("healthy"), tmp_path, look.replace("\n", " "))
    rows = report.collect(str(tmp_path / "healthy"))["charts"]["loss"]["points"]
    assert said == f"step 1 loss {rows[0][2]:.4g}; step 5 loss {rows[4][2]:.4g}; block; none"


def test_the_policy_refuses_what_is_not_ours(written, tmp_path):
    """So that the silence of the other tests means something: a foreign style is reported on the console."""
    page = written("killed")
    page.write_text(page.read_text().replace("<main>", '<main style="color:red">'))
    done = chromium(tmp_path / "profile", page, "--dump-dom")
    assert "Content Security Policy" in done.stderr
