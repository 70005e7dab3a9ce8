"""The live page in a real browser, at a desk's and a phone's width, light and dark, by pointer and by keyboard."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import free_port
from tests.harness.browser import Browser, Page
from tests.harness.desk import Desk

pytestmark = pytest.mark.browser

AXE = Path(__file__).with_name("axe") / "axe.min.js"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
READY = "document.documentElement.hasAttribute('data-ready')"
DRAWN = "document.querySelectorAll('.u-over').length >= 3"


class Served(Desk):
    """Runs of all kinds in one home, and the page that is served of them."""

    page: subprocess.Popen[str] | None = None

    def write(self, journals: Any, kind: str, change: Any = None) -> str:
        run = journals.KINDS[kind]()
        run.id = run.state["id"] = f"page-{kind}"
        if change:
            change(run)
        folder = self.home / "runs" / run.id
        folder.mkdir(mode=0o700, parents=True)
        run.write(folder)
        (folder / ".allranks-run").write_text(run.id)
        for rank in range(run.ranks):
            log = folder / "nodes" / run.node_of(rank) / "logs" / f"rank-{rank}.log"
            lines = [f"loading shard {n}\n" for n in range(40)] + [f"rank {rank} is ready {HOSTILE}\n"]
            log.write_text("".join(lines))
        return run.id

    def serve(self, *words: str) -> str:
        self.page = self.start("ui", *words, "--port", str(free_port()))
        assert self.page.stdout is not None
        return self.page.stdout.readline().strip()

    def close(self) -> None:
        """Ends the page as a user does, so that it removes its folder."""
        if self.page is not None:
            self.page.terminate()
            self.page.wait(60)
        super().close()


def hostile(run: Any) -> None:
    """What a node may put into a journal: markup everywhere, and a stall with its stacks."""
    run.state["name"] = HOSTILE
    run.finding(
        id="x" + HOSTILE, verdict="warn", where={"node": HOSTILE}, saw=HOSTILE, why=HOSTILE, fix=HOSTILE
    )
    run.say("evidence", {"why": HOSTILE}, node="node-0")
    for rank in range(3):
        frames = [[f"/w/{HOSTILE}.py", rank // 2, HOSTILE]]
        run.say("stack", {"frames": frames, "by": "inside"}, f"node-{rank}", rank)


@pytest.fixture(scope="module")
def served(journals: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    with Served(tmp_path_factory.mktemp("page")) as desk:
        desk.home.mkdir(mode=0o700)
        for kind in ("healthy", "large", "killed"):
            desk.write(journals, kind, hostile if kind == "killed" else None)
        yield desk, desk.serve()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def opened(browser: Browser, served: Any, place: str, **looks: Any) -> Page:
    page = browser.page(**looks)
    page.open(f"{served[1]}#/{place}")
    page.until(READY if place.startswith("run/") else "document.querySelector('table.runs')")
    return page


PLACES = ("", "run/page-large", "run/page-killed", "run/page-large/logs/0-2", "run/page-killed/stacks",
          "run/page-healthy/plan", "run/page-healthy/compare/page-killed")  # fmt: skip


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True), (1440, True), (390, False)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(browser, served, width, dark) -> None:
    for place in PLACES:
        page = opened(browser, served, place, width=width, dark=dark)
        page.until("document.querySelector('main section')")
        if place == "run/page-large":
            page.until(DRAWN)
        assert page.look("document.documentElement.scrollWidth") == width, place
        if not place:
            cells = "[...document.querySelectorAll('.runs td:last-child')]"
            ends = page.look(f"{cells}.map((one) => one.getBoundingClientRect().right)")
            assert max(ends) <= width, "the findings of a run are in sight, on a phone too"
        page.look(AXE.read_text(encoding="utf-8") + "; null")
        found = page.look("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => "
                          "[v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]))")  # fmt: skip
        assert found == [], (place, width, dark)
        assert page.complaints() == [], place
        page.close()


def test_nothing_from_a_node_becomes_markup(browser, served) -> None:
    for place in ("run/page-killed", "run/page-killed/stacks", "run/page-killed/logs/0", ""):
        page = opened(browser, served, place)
        page.until("document.body.innerText.includes('onerror')" if place else "document.querySelector('td')")
        assert page.look("document.querySelectorAll('img, main script').length") == 0
        assert page.look("document.title") != "owned" and page.complaints() == []
        asked = {address.split("/")[2] for address in page.requested() if address.startswith("http")}
        assert asked == {served[1].split("/")[2]}, "only its own server is asked"
        page.close()


def test_the_policy_would_say_so(browser, served) -> None:
    """So that the silence of the others means something."""
    page = opened(browser, served, "")
    assert "TrustedHTML" in page.look(
        "(() => { try { document.body.innerHTML = '<b>x</b>' } catch (e) { return '' + e } })()"
    )
    page.look("document.body.setAttribute('style', 'color: red')")
    page.look("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert len([line for line in page.complaints() if "Content Security Policy" in line]) >= 2
    page.close()


def test_the_map_by_keyboard_and_the_slowest_rank(browser, served) -> None:
    page = opened(browser, served, "run/page-large")
    assert page.until("document.querySelector('.cell.slow')?.getAttribute('aria-label')").startswith(
        "rank 13:"
    )
    assert "waiting for data" in page.look(
        "document.querySelector('main .said.warn:not([hidden])').innerText"
    )
    page.look("document.querySelector('.heat [tabindex=\"0\"]').focus()")
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.key(key)
    assert page.look("document.querySelector('.pointed').innerText").startswith("Rank 2 on node-0 · step 400")
    page.key("Enter")
    page.until("document.querySelector('.rank h3')?.innerText === 'Rank 2 on node-0'")
    page.until("document.querySelector('#plot-rank .u-over')")
    page.look("document.querySelector('.rank a').click()")
    assert page.until("document.querySelector('.log .line')?.innerText") == "loading shard 0"
    assert page.look("document.querySelector('#log-ranks').value") == "2"
    page.close()


def x_scale(page: Page) -> list[float]:
    """First and last step that the loss shows: what the keys Home and End point at."""
    page.look("document.querySelector('#plot-loss').focus()")
    found = []
    for key in ("Home", "End"):
        page.key(key)
        page.until(
            "document.querySelector('#plot-loss').closest('figure').querySelector('output').innerText.startsWith('step')"
        )
        said = page.look(
            "document.querySelector('#plot-loss').closest('figure').querySelector('output').innerText"
        )
        found.append(float(said.split()[1].replace(",", "")))
    return found


def test_zoom_smoothing_and_both_axes(browser, served) -> None:
    page = opened(browser, served, "run/page-large")
    page.until(DRAWN)
    assert x_scale(page) == [1, 400]
    page.drag("#plot-loss .u-over", 0.25, 0.5)
    first, last = x_scale(page)
    assert 95 <= first <= 106 and 195 <= last <= 206, "the dragged range"
    page.key("+")
    near = x_scale(page)
    assert near[1] - near[0] < 60
    page.key("0")
    assert x_scale(page) == [1, 400]
    ink = "(() => { const c = document.querySelector('#plot-loss canvas'); return c.toDataURL().length })()"
    plain = page.look(ink)
    page.look(
        "(() => { const r = document.querySelector('#smooth'); r.value = 95; r.dispatchEvent(new Event('input')) })()"
    )
    page.until(f"{ink} !== {plain}")
    page.look("document.querySelector('#log').click()")
    page.look("document.querySelector('input[value=time]').click()")
    page.until(
        "!document.querySelector('#plot-loss').closest('figure').querySelector('output').innerText.startsWith('step')"
    )
    assert page.complaints() == []
    page.close()


def test_logs_side_by_side_folded_and_searched(browser, served) -> None:
    page = opened(browser, served, "run/page-large/logs/0-2")
    page.until("document.querySelectorAll('.column .line').length === 3 * 41")
    page.look("document.querySelector('#log-fold').click()")
    page.until("document.querySelectorAll('.column .line').length === 43")
    assert page.look("document.querySelector('.log .line').innerText") == "ranks 0-2loading shard 0"
    page.look("document.querySelector('#log-filter').focus()")
    page.type("rank 1 is")
    page.until("document.querySelectorAll('.column .line').length === 1")
    assert page.look("document.querySelector('.log mark').innerText") == "rank 1 is"
    page.key("Enter")
    page.until("document.body.innerText.includes('1 line in the last 1 MiB of 24 logs')")
    page.close()


def test_steps_come_as_they_are_told_and_a_run_is_stopped_by_its_name(browser, tmp_path) -> None:
    page = browser.page()
    with Served(tmp_path) as live:
        run_id = live.run(live.light("--steps", 100_000, "--seconds", 0.05), "--detach", code=0)["id"]
        page.open(f"{live.serve(run_id)}")
        step = "Number(document.querySelector('.figures dd span')?.innerText.replace(',', '')) || 0"
        before = page.until(step, 60)
        page.until(f"({step}) > {before} + 5", 60)
        assert page.look("document.querySelector('#connection').innerText") == "live"
        stop(page, live.now(run_id)["name"])
        assert live.ended(run_id)["state"] == "stopped"
        page.until("document.querySelector('.state').innerText.toLowerCase() === 'stopped'", 60)
        assert page.complaints() == []
    page.close()


def stop(page: Page, name: str) -> None:
    """As a user does it: not by a click alone, and not by another name."""
    page.look("document.querySelector('button.danger').click()")
    sure = "document.querySelector('dialog button[type=submit]')"
    assert page.look(f"{sure}.disabled")
    page.look("document.querySelector('#stop-name').focus()")
    page.type(name[:-1])
    assert page.look(f"{sure}.disabled")
    page.type(name[-1])
    page.until(f"!{sure}.disabled")
    page.key("Enter")
    page.until(
        "document.querySelector('dialog [role=status]').innerText.includes('of its processes are left')", 90
    )
