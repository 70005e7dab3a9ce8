"""The live page's server: who is answered, what a journal becomes, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from allranks.core import BadInput
from allranks.node.paths import RunDirectory
from allranks.node.run_reader import Reader
from allranks.output.live_page import application as served
from allranks.output.live_page import channel as channels
from allranks.output.live_page import log_reader
from allranks.output.live_page.access import Guard
from allranks.output.live_page.application import Page, application
from allranks.output.live_page.channel import Channel, encoded
from allranks.output.live_page.run_record import RunRecord
from allranks.output.live_page.step_curves import StepCurves
from allranks.runs import cleanup, index
from allranks.transport import Unreachable

TOKEN, PORT = "right-token", 9470
HOST = f"127.0.0.1:{PORT}"


def asked(
    page: Page, path: str, method: str = "GET", body: bytes = b"", **headers: str
) -> tuple[int, dict, bytes]:
    """(status, headers, body) of one request as a browser on this machine makes it; `headers` are others, or more."""
    said = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    sent: list[Any] = []
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in said.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(application(page), TOKEN, PORT)(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/api/about", {}),
        ("/wrong-token/api/about", {}),
        ("/right-toke/api/about", {}),
        (f"/{TOKEN}", {}),
        (f"//{TOKEN}/api/about", {}),
        (f"/x/../{TOKEN}/api/about", {}),
        (f"/{TOKEN}/api/about", {"host": "evil.example:9470"}),
        (f"/{TOKEN}/api/about", {"host": "127.0.0.1:9999"}),
        (f"/{TOKEN}/api/about", {"host": ""}),
        (f"/{TOKEN}/api/about", {"origin": "http://evil.example"}),
        (f"/{TOKEN}/api/about", {"origin": "null"}),
        (f"/{TOKEN}/api/about", {"sec_fetch_site": "cross-site"}),
        (f"/{TOKEN}/api/about", {"sec_fetch_site": "same-site"}),
    ],
)
def test_nobody_else_is_answered(path: str, headers: dict[str, str]) -> None:
    assert asked(Page(), path, **headers) == (404, {"content-length": "0"}, b"")


@pytest.mark.parametrize("headers", [{}, {"host": f"localhost:{PORT}"}, {"origin": f"http://{HOST}"}])
def test_the_page_itself_is_answered_under_a_strict_policy(headers: dict[str, str]) -> None:
    status, told, body = asked(Page(may_stop=False), f"/{TOKEN}/api/about", **headers)
    assert (status, json.loads(body)) == (200, {"first": None, "may_stop": False})
    policy = told["content-security-policy"]
    assert "default-src 'none'" in policy and "trusted-types 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert told["referrer-policy"] == "no-referrer" and told["cache-control"] == "no-store"


def test_only_files_of_the_package_are_served() -> None:
    for name in (
        "../application.py",
        "%2e%2e/access.py",
        "vendor/uplot/LICENSE",
        "static/main.js",
        "/etc/passwd",
    ):
        assert asked(Page(), f"/{TOKEN}/{name}")[0] == 404, name
    for name in ("", "main.js", "style.css", "vendor/uplot/uPlot.esm.js"):
        assert asked(Page(), f"/{TOKEN}/{name}")[0] == 200, name


def test_no_script_can_make_markup() -> None:
    """The policy would stop it; that it is not tried either keeps the page working."""
    for name, file in served.FILES.items():
        text = file.read_text(encoding="utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert word not in text, (name, word)
        if name.endswith((".html", ".js", ".css")) and not name.startswith("vendor/"):
            assert "http://www.w3.org" in text or "://" not in text, f"{name} names another host"


# ---- the end ----


class Head:
    """In the place of the program on a run's head."""

    def __init__(self, *states: str) -> None:
        self.states, self.followed = list(states), 0

    async def call(self, *words: str) -> dict[str, Any]:
        if words[:2] == ("read", "chunk"):
            return {"size_bytes": 0}
        found = {
            "cause": "supervisor-lost",
            "confidence": "likely",
            "where": {"node": "a"},
            "evidence": ["gone"],
        }
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"state": state, "why": "its keeper is gone", "diagnosis": found, "name": "night"}

    async def follow(self, *words: str) -> AsyncIterator[dict[str, Any]]:
        self.followed += 1
        yield {"text": json.dumps({"at": 1.0, "kind": "beat", "rank": 0, "data": {"step": 4}}) + "\n"}


def test_a_run_whose_keeper_died_is_lost_on_its_page_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its journal has no last state. A run that only was not heard is followed again."""
    head = Head(
        "running", "running", "lost"
    )  # asked before the first event, and after each end of the journal

    @contextlib.asynccontextmanager
    async def connected(run_id: str) -> AsyncIterator[Head]:
        yield head

    async def no_document(*words: object) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(channels.index, "connected_head", connected)
    monkeypatch.setattr(channels, "document", no_document)
    monkeypatch.setattr(channels, "AGAIN_SECONDS", 0.0)
    channel = Channel("night-1")
    asyncio.run(asyncio.wait_for(channel.follow(), 30))
    told = channel.record.head(1.0)
    assert (told["state"], told["ended"], told["why"]) == ("lost", True, "its keeper is gone")
    assert told["diagnosis"]["cause"] == "supervisor-lost" and head.followed == 2


@pytest.mark.parametrize("cut", range(4))
def test_a_connection_that_is_lost_at_first_costs_no_name_and_no_plan(cut: int) -> None:
    """They are asked for with the first calls."""

    class Lossy:
        node, calls = "a", 0

        async def call(self, *words: str) -> dict[str, Any]:
            self.calls += 1
            if self.calls == cut + 1:
                raise Unreachable("a", "silent", "the connection was lost")
            if words[:2] == ("read", "status"):
                return {"state": "running", "name": "night"}
            text = json.dumps({"ranks": [{"rank": 0, "node": "a"}], "total_steps": 90})
            begin = int(words[4])
            return {"text": text[begin:], "next_offset": len(text), "size_bytes": len(text)}

    async def prepared() -> Channel:
        channel, head = Channel("night-1"), Lossy()
        with contextlib.suppress(Unreachable):
            await channel.prepare(head)  # type: ignore[arg-type]
        await channel.prepare(head)  # type: ignore[arg-type]
        return channel

    channel = asyncio.run(prepared())
    assert (channel.record.name, channel.record.total_steps, len(channel.record.table.ranks)) == (
        "night",
        90,
        1,
    )
    assert set(channel.documents) == {"plan", "run", "state"} and channel.documents["plan"]


# ---- stopping ----


@pytest.fixture
def stoppable(monkeypatch: pytest.MonkeyPatch) -> tuple[Page, list[Any]]:
    """A page with a run that it has opened already, and what was stopped."""
    stopped: list[Any] = []

    async def stop(run_id: str, save: bool = False) -> dict[str, Any]:
        stopped.append((run_id, save))
        return {"id": run_id, "state": "stopped", "left": 0, "unreadable": {}}

    monkeypatch.setattr(cleanup, "stop", stop)
    page = Page()
    page.channels["night-1"] = channel = Channel("night-1")
    channel.record = RunRecord("night-1", "night")
    return page, stopped


STOP = f"/{TOKEN}/api/run/night-1/stop"


@pytest.mark.parametrize(("name", "save"), [("night", True), ("night-1", False)])
def test_a_run_is_stopped_by_its_name(stoppable: Any, name: str, save: bool) -> None:
    page, stopped = stoppable
    body = json.dumps({"name": name, "save": save}).encode()
    status, _, said = asked(page, STOP, "POST", body, content_type="application/json")
    assert (status, json.loads(said)["state"], stopped) == (200, "stopped", [("night-1", save)])


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (409, b'{"name": "nigh"}', {}),
        (409, b'{"name": ""}', {}),
        (409, b'{"name": ["night"]}', {}),
        (409, b"night", {}),
        (409, b"{" + b" " * 70_000 + b'"name": "night"}', {}),
        (415, b'{"name": "night"}', {"content_type": "text/plain"}),
        (404, b'{"name": "night"}', {"origin": "http://evil.example"}),
    ],
)
def test_nothing_else_stops_one(stoppable: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    page, stopped = stoppable
    words = {"content_type": "application/json", **headers}
    assert (asked(page, STOP, "POST", body, **words)[0], stopped) == (status, [])


def test_a_page_that_only_reads_stops_nothing(stoppable: Any) -> None:
    page, stopped = stoppable
    page.may_stop = False
    body = b'{"name": "night"}'
    assert (asked(page, STOP, "POST", body, content_type="application/json")[0], stopped) == (403, [])
    assert asked(page, STOP)[0] in (404, 405)


def test_a_run_that_has_just_begun_is_found(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    """The list of runs is kept for some seconds; a run that is not on it is looked for anew."""
    known = [{"id": "old-1"}]

    async def all_runs() -> list[dict[str, Any]]:
        return list(known)

    async def opened() -> str:
        page = Page()
        await page.all_runs()
        known.append({"id": "new-1"})
        found = (await page.channel("new-1")).id
        with pytest.raises(BadInput, match="no run gone-1"):
            await page.channel("gone-1")
        await page.close()
        return found

    monkeypatch.setattr(index, "all_runs", all_runs)
    assert asyncio.run(opened()) == "new-1"


# ---- logs ----


@pytest.mark.parametrize(
    "path",
    ["keeper/state.json", "nodes/a/job.json", "nodes/../keeper/x.log", "nodes/a/logs/../job.json", "/etc/passwd",
     "nodes/a/logs/rank-1.log\n", "nodes/a/logs/rank-x.log", "nodes/a/logs/engine.log", ""],
)  # fmt: skip
def test_only_logs_are_read(stoppable: Any, path: str) -> None:
    page, _ = stoppable
    assert log_reader.known([path]) == []
    assert asked(page, f"/{TOKEN}/api/run/night-1/log?path={path}")[0] == 404


def test_a_log_is_followed_from_its_last_whole_line(tmp_path: Path) -> None:
    """Its bytes are counted in the file: the text of bytes that are not UTF-8 is longer."""
    path = "nodes/n0/logs/rank-0.log"
    directory = RunDirectory("r-1", str(tmp_path))
    file = Path(directory.root, path)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xe9first\nsecond\n\xff\xfe\xe9\xe9 half a line")

    class Program:
        async def call(self, *words: str) -> dict[str, Any]:
            return Reader(directory).chunk(words[3], int(words[4]), int(words[5]), False)._asdict()

    found = asyncio.run(log_reader.read(Program(), "r-1", path, 1, 20))  # type: ignore[arg-type]
    assert (found["first"], found["next"], found["lines"]) == (8, 15, ["second"])


def test_a_log_line_is_what_a_terminal_would_show() -> None:
    assert log_reader.line_of("10%\r 50%\r100%\r") == "100%"
    assert log_reader.line_of("\x1b[31mred\x1b[0m <b>&amp;</b>") == "red <b>&amp;</b>"
    assert "\x1b" not in log_reader.line_of("\x1b]0;title\x07x") and "\x00" not in log_reader.line_of(
        "a\x00b"
    )
    assert len(log_reader.line_of("x" * 10_000_000)) <= log_reader.LONGEST_LINE


# ---- what a journal becomes ----


def recorded(run: Any, until: int | None = None) -> RunRecord:
    record = RunRecord(run.id, "tiny", run.plan())
    for event in run.events[:until]:
        record.add(event)
    return record


def test_a_journal_becomes_a_page(made: Any) -> None:
    run = made("healthy")
    told = json.loads(encoded(recorded(run).snapshot()))
    assert (told["run"]["state"], told["run"]["step"], told["run"]["total_steps"]) == ("succeeded", 36, 36)
    assert told["ranks"]["nodes"] == ["node-0", "node-1", "node-2"] and told["ranks"]["lag"] == [0, 0, 0]
    assert told["ranks"]["slowest"] is None, "an even run has nobody to point at"
    losses = {
        row[0]: row[1]
        for e in run.events
        if e["kind"] == "beat" and e["rank"] == 0
        for row in e["data"]["steps"]
    }
    assert told["curves"]["loss"][1:] == pytest.approx([losses[step] for step in range(1, 37)], rel=1e-5)
    assert [mark["text"] for mark in told["marks"] if mark["kind"] == "saved"] == [
        f"saved at step {step} in 0.1 s" for step in (12, 24, 36)
    ]
    assert told["curves"]["at"][1:] == sorted(told["curves"]["at"][1:])


def test_changes_put_together_are_the_whole(made: Any) -> None:
    run = made("killed")
    record = recorded(run, 0)
    known = record.snapshot()
    for place, event in enumerate(run.events):
        record.add(event)
        if place % 7 and place + 1 < len(run.events):
            continue
        change = record.delta()
        if change is None:
            continue
        curves = change.get("curves")
        if curves:
            for name in ("loss", "seconds", "at", "slowest_rank", "tokens"):
                known["curves"][name] = known["curves"][name][: curves["from"]] + curves[name]
        for name in ("marks", "findings"):
            known[name] = known[name] + change.get(name, [])
        known["ranks"] = change.get("ranks", known["ranks"])
    whole = recorded(run).snapshot()
    for name in ("loss", "seconds", "at", "slowest_rank", "tokens"):
        assert known["curves"][name] == whole["curves"][name], name
    for name in ("marks", "findings", "ranks"):
        assert known[name] == whole[name], name
    assert record.delta() is None
    assert whole["run"]["diagnosis"]["cause"] == "rank-killed" and whole["ranks"]["code"][1] == -9


def test_the_rank_that_waits_for_its_data_is_pointed_at(made: Any) -> None:
    slowest = recorded(made("large")).table.slowest()
    assert slowest is not None and (slowest["rank"], slowest["by"]) == (13, "waiting for data")
    assert slowest["value"] > 5 * slowest["median"]


def test_ranks_at_one_place_are_one_stack() -> None:
    record = RunRecord("r")
    frames = [["/w/train.py", 10, "main"], ["/env/site-packages/torch/distributed/c10d.py", 5, "all_reduce"]]
    record.add(
        {"at": 1.0, "kind": "evidence", "node": None, "rank": None, "data": {"why": "no step for 60 s"}}
    )
    for rank in (0, 1, 3):
        record.add({"at": 2.0, "kind": "stack", "node": "a", "rank": rank, "data": {"frames": frames}})
    other = [["/w/train.py", 12, "load"]]
    record.add({"at": 2.0, "kind": "stack", "node": "a", "rank": 2, "data": {"frames": other}})
    record.add({"at": 2.0, "kind": "stack", "node": "a", "rank": 2, "data": {"frames": None, "why": "gone"}})
    apart, together = record.stack_groups()["groups"]
    assert (apart["ranks"], apart["waits"]) == ([2], False) and apart["frames"] == [
        ["/w/train.py", 12, "load", True]
    ]
    assert (together["ranks"], together["waits"]) == ([0, 1, 3], True)
    assert [frame[3] for frame in together["frames"]] == [True, False]


def test_another_attempt_takes_its_steps_again() -> None:
    curves = StepCurves()
    curves.put(0, [[step, float(step), 1.0] for step in range(1, 21)], 20.0)
    curves.cut(10)
    curves.put(0, [[11, 5.0, 1.0]], 40.0)
    assert curves.columns()["loss"][9:] == [9.0, 10.0, 5.0]


def test_many_steps_keep_their_spikes_and_their_bounds() -> None:
    curves = StepCurves(bins=64)
    for step in range(1, 10_001):
        curves.put(0, [[step, 100.0 if step == 777 else 1.0, 0.5, 0.0, 10.0, 1e-4]], step * 0.5)
    told = curves.columns()
    assert len(curves.held) <= 64 and told["width"] == 256
    assert told["loss_high"][777 // 256] == 100.0 and told["loss_low"][777 // 256] == 1.0
    assert set(told["tokens"]) == {20.0}
    assert told["at"][-1] == pytest.approx(5000.0)


def test_a_loss_that_is_no_number_is_marked_and_the_answer_stays_json() -> None:
    record = RunRecord("r")
    rows = [
        [1, 2.0, 0.1],
        [2, float("nan"), 0.1],
        [3, float("inf"), 0.1, 1e400, "x"],
        [4, None, -float("inf")],
    ]
    record.add(
        {
            "at": 5.0,
            "kind": "beat",
            "node": "a",
            "rank": 0,
            "data": {"phase": "training", "step": 4, "steps": rows},
        }
    )
    told = json.loads(encoded(record.snapshot()), parse_constant=lambda name: pytest.fail(name))
    assert told["curves"]["loss"] == [None, 2.0, None, None, None] and told["curves"]["bad"] == [2, 3]


ODD = [None, [], {}, "x", -1, 1e308, float("nan"), True, [[]], {"a": 1}, "\u202e<script>", 10**400]


KINDS = (
    "beat start sample stack finding diagnosis resume phase kernel saved rank-gone replaced settings alert joined "
    "evidence state restart"
)
FIELDS = (
    "steps step phase rss_bytes frames gpus nics where evidence cpu why lines code seconds verdict id saw cause "
    "total_steps uuid gpu local_rank from_ state"
)


@pytest.mark.parametrize("kind", KINDS.split(" "))
def test_nothing_in_a_journal_ends_the_page(kind: str) -> None:
    record = RunRecord("r", plan={"ranks": [{"rank": "x"}, None, {"rank": 3, "node": 7}]})
    for value in ODD:
        for rank in (0, None, -1, "0", 10**30):
            data = {name: value for name in FIELDS.split(" ")}
            record.add(
                {"at": 1.0, "kind": kind, "node": value if rank is None else "a", "rank": rank, "data": data}
            )
            record.add({"at": value, "kind": kind, "node": "a", "rank": rank, "data": value})
    json.loads(encoded(record.snapshot()), parse_constant=lambda name: pytest.fail(name))
