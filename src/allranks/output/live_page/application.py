"""The page's requests and their answers: Starlette's routes, all behind `access.Guard`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from allranks.core import AllranksError, BadInput, Problem
from allranks.core.untrusted import integer, mapping, mappings, text
from allranks.output import report_plan, run_comparison
from allranks.output.live_page import log_reader
from allranks.output.live_page.channel import Channel, document, encoded
from allranks.output.live_page.step_curves import short
from allranks.output.report_findings import adapter_of
from allranks.runs import cleanup, index
from allranks.transport import Unreachable

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
MOST_CHANNELS = 8
"""The most runs that are followed at the same time. If there are more, runs without a watcher are dropped."""

LONGEST_BODY = 64 << 10
RUNS_SECONDS = 4.0
"""The greatest age of an answer about all runs: each question to their heads costs a process per head."""

COMPARE_SECONDS = 120.0
MOST_POINTS = 2_000


class Page:
    """The server's state: the followed runs. `may_stop` says whether the page can stop a run."""

    def __init__(self, may_stop: bool = True, first: str | None = None):
        self.may_stop, self.first = may_stop, first
        self.channels: dict[str, Channel] = {}
        self.runs: tuple[float, list[dict[str, Any]]] = (float("-inf"), [])
        self.asking = asyncio.Lock()
        self.stopping: set[str] = set()

    async def close(self) -> None:
        await asyncio.gather(*(channel.close() for channel in self.channels.values()))

    # ---- runs ----

    async def channel(self, run_id: str) -> Channel:
        """The run's channel. It is started at the first request. Raises BadInput for an unknown run."""
        found = self.channels.pop(run_id, None)
        if found is None:
            if not index.entry(run_id) and run_id not in {
                run["id"] for run in await self.all_runs(anew=True)
            }:
                why = f"no run {run_id} is known here"
                raise BadInput(Problem(why, do="allranks ps lists the runs"))
            idle = [name for name, one in self.channels.items() if not one.watchers]
            for name in idle[: max(0, len(self.channels) + 1 - MOST_CHANNELS)]:
                await self.channels.pop(name).close()
            found = Channel(run_id)
            found.start()
        self.channels[run_id] = found  # the most recently requested run is last
        return found

    async def all_runs(self, anew: bool = False) -> list[dict[str, Any]]:
        async with self.asking:
            if anew or time.monotonic() - self.runs[0] > RUNS_SECONDS:
                told = [short_run(run) for run in await index.all_runs()]
                self.runs = (time.monotonic(), told)
        return self.runs[1]

    # ---- answers ----

    async def about(self, request: Request) -> Response:
        return answer({"first": self.first, "may_stop": self.may_stop})

    async def list_runs(self, request: Request) -> Response:
        return answer({"runs": await self.all_runs(), "now": time.time()})

    async def events(self, request: Request) -> Response:
        channel = await self.channel(run_of(request))
        return StreamingResponse(as_events(channel.watch()), media_type="text/event-stream")

    async def rank(self, request: Request) -> Response:
        """A rank's steps in the coarse bins that are kept of every rank: first, last, seconds, wait for data."""
        channel = await self.channel(run_of(request))
        steps, number = channel.record.collector.steps, int(request.path_params["rank"])
        waits = {point.first: short(point.mean) for point in steps.points(number, "data_seconds")}
        own = steps.points(number, "seconds")
        rows = [[one.first, one.last, short(one.mean), waits.get(one.first)] for one in own]
        return answer({"rank": number, "steps": rows})

    async def plan(self, request: Request) -> Response:
        channel = await self.channel(run_of(request))
        record, collector = channel.record, channel.record.collector
        plan = channel.documents.get("plan", {})
        if "keep" not in channel.documents and plan:
            with contextlib.suppress(Unreachable):  # the next look asks again
                channel.documents["keep"] = await kept(channel.id, plan)
        adapter = adapter_of(collector.adapter)
        keep = channel.documents.get("keep", {})
        rows = report_plan.compare(plan, keep, collector.settings, collector.summary(), adapter, record.state)
        return answer(
            {"rows": rows, "planned": bool(plan), "file": channel.documents.get("run", {}).get("text")}
        )

    async def compare(self, request: Request) -> Response:
        names = [request.query_params.get(name, "") for name in ("a", "b")]
        channels = [await self.channel(name) for name in names]
        waits = [asyncio.wait_for(one.caught_up.wait(), COMPARE_SECONDS) for one in channels]
        done = await asyncio.gather(*waits, return_exceptions=True)
        if any(isinstance(one, BaseException) for one in done):
            return refused("The journals are still being read. Try again in a minute.", 503)
        told = [as_collected(one) for one in channels]
        found = await asyncio.to_thread(run_comparison.compared, told[0], told[1], (names[0], names[1]))
        curves = [thinned(one.record.curves.columns()) for one in channels]
        return answer({**found.as_json(), "curves": curves})

    # ---- logs ----

    async def logs(self, request: Request) -> Response:
        return answer({"logs": await log_reader.listed(await self.known(request))})

    async def log(self, request: Request) -> Response:
        run_id, path = await self.known(request), request.query_params.get("path", "")
        if not log_reader.known([path]):
            return refused("There is no such log.")
        offset = integer(whole(request.query_params.get("offset", "")))
        size = whole(request.query_params.get("bytes", "")) or log_reader.CHUNK_BYTES
        start = -log_reader.CHUNK_BYTES if offset is None else offset
        size = max(1, min(size, log_reader.CHUNK_BYTES))
        return answer(await log_reader.piece(run_id, path, start, size))

    async def follow_logs(self, request: Request) -> Response:
        run_id = await self.known(request)
        places: dict[str, int] = {}
        for one in request.query_params.getlist("from"):
            at, _, path = one.partition(":")
            if log_reader.known([path]):
                places[path] = max(0, whole(at) or 0)
        lines = (encoded(one) async for one in log_reader.followed(run_id, places))
        return StreamingResponse(as_events(lines, "end"), media_type="text/event-stream")

    async def search(self, request: Request) -> Response:
        run_id, words = await self.known(request), request.query_params.get("words", "")[:200]
        if not words.strip():
            return refused("Type what to search for.")
        return answer(await log_reader.searched(run_id, words, request.query_params.getlist("path")))

    async def known(self, request: Request) -> str:
        return (await self.channel(run_of(request))).id

    # ---- stopping ----

    async def stop(self, request: Request) -> Response:
        """Stops the run, if this page may, and only if the user types the run's name: a click is not enough."""
        if not self.may_stop:
            return refused("This page was started with --read-only.", 403)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return refused("The request is not JSON.", 415)
        channel = await self.channel(run_of(request))
        body = await request.body()
        wanted = mapping(parsed(body)) if len(body) <= LONGEST_BODY else {}
        if text(wanted.get("name")) not in {channel.id, channel.record.name or channel.id}:
            return refused("That is not the run's name. Nothing was stopped.", 409)
        if channel.id in self.stopping:
            return refused("The run is being stopped already.", 409)
        self.stopping.add(channel.id)
        try:
            result = await asyncio.shield(cleanup.stop(channel.id, wanted.get("save") is True))
        finally:
            self.stopping.discard(channel.id)
        return answer({"state": result["state"], "left": result["left"], "unreadable": result["unreadable"]})


def application(page: Page) -> Starlette:
    def get(path: str, what: Callable[[Request], Awaitable[Response]]) -> Route:
        return Route(path, guarded(what), methods=["GET"])

    return Starlette(
        routes=[
            get("/api/about", page.about),
            get("/api/runs", page.list_runs),
            get("/api/compare", page.compare),
            get("/api/run/{run}/events", page.events),
            get("/api/run/{run}/plan", page.plan),
            get("/api/run/{run}/rank/{rank:int}", page.rank),
            get("/api/run/{run}/logs", page.logs),
            get("/api/run/{run}/log", page.log),
            get("/api/run/{run}/log-lines", page.follow_logs),
            get("/api/run/{run}/search", page.search),
            Route("/api/run/{run}/stop", guarded(page.stop), methods=["POST"]),
            get("/", static),
            get("/{file:path}", static),
        ]
    )


def guarded(what: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Answers with a message if an error occurs."""

    async def asked(request: Request) -> Response:
        try:
            return await what(request)
        except BadInput as error:
            return refused(str(error))
        except AllranksError as error:
            return refused(str(error), 502)

    return asked


async def static(request: Request) -> Response:
    """A file of the package. Names are looked up, never joined to a path."""
    name = request.path_params.get("file") or "index.html"
    found = FILES.get(name)
    if found is None:
        return refused("There is no such page.")
    return Response(found.read_bytes(), media_type=TYPES[name.rpartition(".")[2]])


def files() -> dict[str, Any]:
    """Every file that the server offers, by its path below `static/`."""
    found: dict[str, Any] = {}
    folders = [("", resources.files("allranks.output.live_page").joinpath("static"))]
    while folders:
        before, folder = folders.pop()
        for one in folder.iterdir():
            if one.is_dir():
                folders.append((f"{before}{one.name}/", one))
            elif one.name.rpartition(".")[2] in TYPES:
                found[f"{before}{one.name}"] = one
    return found


FILES = files()


async def as_events(messages: AsyncIterator[bytes], last: str = "") -> AsyncIterator[bytes]:
    """Server-sent events. An empty message is a comment that keeps the connection open. `last` names the message that
    ends the stream: without it a browser would ask again."""
    async for message in messages:
        yield b"data: " + message + b"\n\n" if message else b": alive\n\n"
    if last:
        yield f"event: {last}\ndata: {{}}\n\n".encode()


def answer(data: Any, status: int = 200) -> Response:
    return Response(encoded(data), status, media_type="application/json")


def refused(why: str, status: int = 404) -> Response:
    return answer({"error": why}, status)


def run_of(request: Request) -> str:
    return str(request.path_params["run"])


def whole(said: str) -> int | None:
    digits = said[1:] if said.startswith("-") else said
    return int(said) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def short_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a `ps` entry that the list shows."""
    diagnosis = mapping(run.get("diagnosis"))
    findings = [one.get("verdict") for one in mappings(run.get("findings"))]
    return {
        "id": str(run.get("id")),
        "name": text(run.get("name")),
        "state": text(run.get("state")),
        "phase": text(run.get("phase")),
        "step": integer(run.get("step")),
        "total_steps": integer(run.get("total_steps")),
        "nodes": [str(one) for one in run.get("nodes") or ()][:5_000],
        "started_at": run.get("started_at"),
        "ended_at": run.get("ended_at"),
        "cause": text(diagnosis.get("cause")),
        "why": text(run.get("why")),
        "warnings": findings.count("warn"),
        "errors": findings.count("block"),
    }


async def kept(run_id: str, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keeper's expectations, from the head's job."""
    names = [text(one.get("node")) for one in mappings(plan.get("ranks"))[:1]]
    async with index.connected_head(run_id) as head:
        name = names[0] if names and names[0] else head.node
        return mapping((await document(head, run_id, f"nodes/{name}/job.json")).get("keep"))


def as_collected(channel: Channel) -> dict[str, Any]:
    """The data that `run_comparison` reads of a run, with the names of `report.collect`."""
    collector = channel.record.collector
    return {
        "state": {"state": channel.record.state},
        "run_file": channel.documents.get("run", {}),
        "settings": collector.settings,
        "ranks": collector.rank_rows(),
        "charts": collector.charts(),
        "summary": collector.summary(),
    }


def thinned(columns: Mapping[str, Any]) -> dict[str, Any]:
    """A run's loss by step, at most `MOST_POINTS` values."""
    width, loss = columns["width"], columns["loss"]
    every = max(1, -(-len(loss) // MOST_POINTS))
    points = [(place * width, value) for place, value in enumerate(loss) if value is not None]
    points = points[::every]
    return {"step": [place for place, _ in points], "loss": [value for _, value in points]}
