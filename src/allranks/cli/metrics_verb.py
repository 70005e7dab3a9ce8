"""`allranks metrics`: follows the journals of runs, and serves their values to Prometheus."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, start_http_server, write_to_textfile
from prometheus_client.openmetrics.exposition import generate_latest

from allranks.cli.run_verbs import FINAL, JOURNAL, journal
from allranks.core import AllranksError, BadInput, Problem
from allranks.core.text import spelt_out
from allranks.core.untrusted import integer
from allranks.output import otlp
from allranks.output.metrics import Followed, RunCollector
from allranks.runs import index
from allranks.transport import NodeProgram, ProgramFailed

AGAIN_SECONDS = 5.0
"""The wait after the connection to a head has ended."""

ONCE_SECONDS = 20.0
"""The time limit for one look at the heads of all runs."""

KEPT_SECONDS = 300.0
"""Of a run that has ended: so that its last state is still collected."""


def metrics_command(options: argparse.Namespace) -> int:
    runs: dict[str, Followed] = {}
    registry = CollectorRegistry()
    registry.register(RunCollector(runs))
    sender = Sender(options.otlp, registry) if options.otlp else None
    if options.runs:
        asyncio.run(wanted(options.runs))  # an unknown run is an error before a port is opened
    if not (options.once or options.textfile or sender):
        listen(options, registry)

    def turn() -> None:
        if sender:
            sender.send()
        elif options.once:
            print(generate_latest(registry).decode(), end="")
        elif options.textfile:
            write(options.textfile, registry)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(follow(options.runs, runs, options.once, options.every, turn))
    return 1 if options.once and sender and sender.trouble else 0


class Sender:
    """Sends the metrics to a collector. `trouble` says why the last message did not arrive; it is printed when it
    changes."""

    def __init__(self, url: str, registry: CollectorRegistry):
        try:
            self.address = otlp.address_of(url)
        except ValueError as error:
            raise BadInput(Problem(str(error), do="--otlp http://HOST:4318")) from None
        self.registry, self.trouble = registry, ""

    def send(self) -> None:
        before, self.trouble = self.trouble, otlp.send(self.registry.collect(), self.address, time.time())
        if self.trouble != before:
            complain(f"{self.address}: {self.trouble or 'the metrics arrive again'}")


def listen(options: argparse.Namespace, registry: CollectorRegistry) -> None:
    try:
        start_http_server(options.port, options.address, registry)
    except OSError as error:
        why = f"{options.address}:{options.port} cannot be listened on: {error.strerror}"
        raise BadInput(Problem(why, do="--port with another port")) from None
    print(f"metrics on http://{options.address}:{options.port}/metrics; Ctrl-C ends", file=sys.stderr)


def complain(said: str) -> None:
    print(spelt_out(said), file=sys.stderr)


async def follow(
    names: list[str],
    runs: dict[str, Followed],
    once: bool,
    every: float,
    turn: Callable[[], None],
    say: Callable[[str], None] = complain,
) -> None:
    """Fills `runs` with the events from the heads of these runs (of all active runs if no name is given), and calls
    `turn` every `every` seconds. With `once` it calls it only once, when all heads have answered."""
    tasks: dict[str, asyncio.Task[None]] = {}
    ended_at: dict[str, float] = {}
    try:
        while True:
            if not names:
                forget(runs, tasks, ended_at, asyncio.get_running_loop().time())
            for run_id, name in await wanted(names):
                if run_id not in runs and run_id not in ended_at:
                    runs[run_id] = Followed(run_id, name)
                    tasks[run_id] = asyncio.ensure_future(one_run(runs[run_id], once, say))
            if once:
                await caught_up(runs, tasks)
            await asyncio.to_thread(turn)  # a collector that does not answer must not hold up the journals
            if once:
                return
            await asyncio.sleep(every)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


def forget(
    runs: dict[str, Followed], tasks: dict[str, asyncio.Task[None]], ended_at: dict[str, float], now: float
) -> None:
    """Drops the runs that have ended: their series would stay for as long as this program runs."""
    for run_id in [run_id for run_id, one in runs.items() if one.state in FINAL]:
        if now - ended_at.setdefault(run_id, now) > KEPT_SECONDS:
            del runs[run_id]
            tasks.pop(run_id).cancel()


async def caught_up(runs: dict[str, Followed], tasks: dict[str, asyncio.Task[None]]) -> None:
    """Waits until every journal was read as far as it went at the beginning. A run for which that takes too long counts
    as not reached: its values are of an earlier time."""
    clock = asyncio.get_running_loop().time
    end = clock() + ONCE_SECONDS
    while clock() < end and not all(one.caught_up or tasks[one.id].done() for one in runs.values()):
        await asyncio.sleep(0.1)
    late = [one for one in runs.values() if not (one.caught_up or tasks[one.id].done())]
    for one in late:
        tasks[one.id].cancel()
    await asyncio.gather(*(tasks[one.id] for one in late), return_exceptions=True)
    for one in late:
        one.reached = False


def write(path: str, registry: CollectorRegistry) -> None:
    """Replaces the file in one step, so that the exporter never reads half of it."""
    try:
        write_to_textfile(path, registry)
    except OSError as error:
        problem = Problem(f"{path} cannot be written: {error.strerror}", do="--textfile with another path")
        raise BadInput(problem) from None


async def wanted(names: list[str]) -> list[tuple[str, str]]:
    """Ids and names of the runs to follow. A named run that is unknown is bad input."""
    if names:
        found = [await index.find(name) for name in names]
        return [(run_id, str(index.entry(run_id).get("name") or "")) for run_id in found]
    known = [entry for entry in await index.all_runs() if entry.get("state") not in FINAL]
    return [(str(entry["id"]), str(entry.get("name") or "")) for entry in known]


async def journal_bytes(head: NodeProgram, run_id: str) -> int:
    """The size of a run's journal now; 0 if the run has none yet."""
    try:
        return integer((await head.call("read", "chunk", run_id, JOURNAL, "0", "0")).get("size_bytes")) or 0
    except ProgramFailed:
        return 0


async def one_run(followed: Followed, once: bool, say: Callable[[str], None] = complain) -> None:
    """Reads the run's journal to its end. If the connection breaks before the end, `run_reached` is 0 until it is
    back."""
    said = ""
    while followed.run.state not in FINAL:
        try:
            async with index.connected_head(followed.id) as head:
                followed.begin_again()
                if once:
                    followed.left_bytes = await journal_bytes(head, followed.id)
                    followed.reached = True
                async for event in journal(head, followed.id, read=followed.read):
                    followed.reached = True
                    followed.add(event)
                if (
                    followed.run.state not in FINAL
                ):  # the journal of a run whose keeper died has no last state
                    followed.end(await head.call("read", "status", followed.id))
        except AllranksError as error:
            if str(error) != said:
                said = str(error)
                say(f"{followed.id}: {error}")
        followed.reached = followed.run.state in FINAL
        if once:
            return
        await asyncio.sleep(AGAIN_SECONDS)
