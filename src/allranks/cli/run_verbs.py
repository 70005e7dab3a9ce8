"""`run`, `watch` and `logs`: verbs that look at a run while it lives."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from allranks.cli.common import print_json, typed_of
from allranks.cli.run_modes import next_rung
from allranks.core import AllranksError, CouldNotTell, Event, event_from_json, told
from allranks.core.run_states import FINAL, NOT_SEEN
from allranks.core.text import spelt_out
from allranks.core.untrusted import text
from allranks.output.terminal import LiveView, print_findings, print_summary
from allranks.runs import exclusion, index
from allranks.runs.allocation import Acquired, acquire, looking
from allranks.runs.controller import StoppedBefore, submit
from allranks.runs.inspection import Inspection, inspect, verdict_code
from allranks.runs.keeper_stop_request import journal_unwritten
from allranks.spec import Run, Typed
from allranks.transport import NodeProgram, ProgramFailed

T = TypeVar("T")
JOURNAL = "keeper/journal.jsonl"
LOG_BYTES = 4096
"""The end of an existing log that is read, in bytes: the view shows one line of it."""


class Detached(Exception):
    """Ctrl-C after the launch: allranks stops watching, and the run continues. `state` is the last state that its
    head reported."""

    def __init__(self, run_id: str, state: dict[str, Any]):
        super().__init__(run_id)
        self.state = {"id": run_id, "state": "starting", **state}


# ---- run ----


def run_command(run: Run, options: argparse.Namespace) -> int:
    """The verb `run`, from the validated run file to the exit code."""
    view = LiveView(name=run.name, quiet=options.json)
    try:
        with view:
            state = asyncio.run(start_and_follow(run, options, view))
    except StoppedBefore as stopped:
        return say_stopped(stopped, options.json)
    except Detached as detached:
        say_detached(detached, options.json)
        return 0
    return say_end(state, options)


async def start_and_follow(run: Run, options: argparse.Namespace, view: LiveView) -> dict[str, Any]:
    excludes = options.exclude_unready
    if excludes:
        exclusion.refuse_queue(run)
    if options.dry_run:
        return {"dry_run": await looked_at(run, options.accept_new_hosts, excludes)}
    acquired = await until_stopped(acquire(run, view.add, options.accept_new_hosts, again(options)))
    if excludes:
        acquired = await exclusion.ready(acquired)
    run, nodes = acquired.run, acquired.nodes
    try:
        submitted = await submit_or_release(acquired, view, options.probe)
        head = nodes[run.cluster.head.name]
        if options.detach:
            raise Detached(submitted.run_id, await status_or_nothing(head, submitted.run_id))
        return await until_end(head, submitted.run_id, view)
    finally:
        await nodes.close()


async def looked_at(run: Run, accept_new_hosts: bool, excludes: bool = False) -> dict[str, Any]:
    """The inspection of the run for a dry run. It keeps nothing, not even a SLURM job."""
    found = await looking(run, accept_new_hosts)
    try:
        found = await exclusion.ready(found) if excludes else found
        return describe(await inspect(found.nodes, found.run))
    finally:
        await found.nodes.close()


def again(options: argparse.Namespace, *sets: str) -> list[str]:
    """The command that starts this run once more. A job that SLURM has queued again uses it to continue the run."""
    return started_again(typed_of(options), options.sets, options.accept, options.probe, sets)


def started_again(
    typed: Typed, own: Sequence[str], accept: Sequence[str], probe: bool | None, more: Sequence[str] = ()
) -> list[str]:
    """The command that repeats what the user typed: with the `--set`s, the accepted ids and the probe of the first
    start, and with `more` sets."""
    if typed.file is not None:
        typed = replace(typed, file=str(Path(typed.file).resolve()))
    words = [sys.executable, "-m", "allranks.cli", "run", "--json"]
    for setting in (*own, "resume=auto", *more):
        words += ["--set", setting]
    for name in accept:
        words += ["--accept", name]
    if probe is not None:
        words.append("--probe" if probe else "--no-probe")
    return [*words, *typed.as_words()]


async def submit_or_release(acquired: Acquired, view: LiveView, probe: bool | None):
    """Submits the run. If it does not start, everything that was acquired for it is given back."""
    try:
        return await submit_or_abort(acquired, view, probe)
    except BaseException:
        await asyncio.shield(acquired.release())
        raise


async def submit_or_abort(acquired: Acquired, view: LiveView, probe: bool | None = None):
    """Submits the run. Ctrl-C cancels this, and the submission then undoes itself."""
    return await until_stopped(submit(acquired.nodes, acquired.run, view.add, probe, acquired.run_id))


async def until_stopped(work: Coroutine[Any, Any, T]) -> T:
    """Does a part of a start. Ctrl-C cancels it, and it then undoes itself; a second one does not disturb that."""
    task = asyncio.ensure_future(work)
    with interrupts(task.cancel, "the start is being undone; that takes until every node has answered"):
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


class interrupts:
    """Inside this context, Ctrl-C calls `action` and does not raise KeyboardInterrupt in the middle of other code. So
    does a terminal that is closed, unless its SIGHUP is ignored (nohup)."""

    def __init__(self, action, again=""):
        self.action, self.again, self.was_called = action, again, False

    def __enter__(self):
        self.loop = asyncio.get_running_loop()
        self.handlers = {signal.SIGINT: self.once, signal.SIGTERM: self.once}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            self.handlers[signal.SIGHUP] = self.hang_up
        for number, handler in self.handlers.items():
            self.loop.add_signal_handler(number, handler)
        return self

    def __exit__(self, *_):
        for number in self.handlers:
            self.loop.remove_signal_handler(number)

    def once(self):
        if not self.was_called:
            self.was_called = True
            self.action()
        elif self.again:
            print(self.again, file=sys.stderr)

    def hang_up(self):
        leave_terminal()
        self.once()


def leave_terminal() -> None:
    """Every write to a closed terminal fails, and what is undone says what it does: so that goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(number).st_mode):
                os.dup2(nowhere, number)
    os.close(nowhere)


async def until_end(head: NodeProgram, run_id: str, view: LiveView) -> dict[str, Any]:
    """Passes the run's journal to the view until the run has ended. Returns the state."""

    view.follows(run_id)
    # Rank 0 is on the head. Its log is one more file in the stream that brings the journal.
    log = f"nodes/{head.node}/logs/rank-0.log" if view.live is not None else ""

    async def feed() -> None:
        async for event in journal(head, run_id, log, view.add_log):
            view.add(event)

    task = asyncio.ensure_future(feed())
    with interrupts(task.cancel):
        try:
            await task
        except asyncio.CancelledError:
            raise Detached(run_id, await status_or_nothing(head, run_id)) from None
    return await last_state(head, run_id)


async def last_state(head: NodeProgram, run_id: str) -> dict[str, Any]:
    """The state of a run whose journal has ended. Raises CouldNotTell if the run has not ended, as far as is known."""
    try:
        state = await status(head, run_id)
    except ProgramFailed as error:  # its folder was removed while it ran
        raise CouldNotTell(
            f"{run_id}: how it ended is not known: {error}\n  fix  see what it saved: allranks checkpoints list FOLDER"
        ) from None
    if "silent_seconds" in state:
        raise CouldNotTell(
            f"{run_id}: {state.get('why')}: it may still run, or have ended.\n  fix  look at its head, or stop it: "
            f"allranks stop {run_id}"
        )
    if state.get("state") not in FINAL:
        raise CouldNotTell(
            f"{run_id}: the connection to its head ended while it was {state.get('state')}; it goes on.\n"
            f"  fix  allranks watch {run_id}"
        )
    return state


async def status(head: NodeProgram, run_id: str) -> dict[str, Any]:
    answer = await head.call("read", "status", run_id)
    return dict(answer)


async def status_or_nothing(head: NodeProgram, run_id: str) -> dict[str, Any]:
    """The state for a last look. If this fails, it does not affect the run, which no longer needs this process."""
    try:
        return await status(head, run_id)
    except AllranksError:
        return {}


async def journal(
    head: NodeProgram,
    run_id: str,
    log: str = "",
    add_log: Callable[[str], None] | None = None,
    read: Callable[[int], None] | None = None,
) -> AsyncIterator[Event]:
    """The events of a run's journal from the beginning, each once, until the run has ended. The end of the file
    `log`, and all text that is added to it, goes to `add_log`. `read` is called with the size of each piece of the
    journal, in bytes, after its events."""
    rest = ""
    words = [log, "--from", log, str(-LOG_BYTES)] if log and add_log is not None else []
    async for piece in head.follow(run_id, JOURNAL, *words):
        if piece.get("path") == log and add_log is not None:
            add_log(str(piece.get("text", "")))
            continue
        if piece.get("unwritten"):
            yield unwritten(str(piece["unwritten"]))
        told = str(piece.get("text", ""))
        *lines, rest = (rest + told).split("\n")
        for event in parsed(lines):
            yield event
        if read is not None:
            read(len(told.encode("utf-8", "replace")))


def unwritten(why: str) -> Event:
    """The event of a finding that the head cannot write into its own journal."""
    return told(journal_unwritten(f"on the head {why}"))


def parsed(lines: Iterable[str]) -> Iterable[Event]:
    for line in lines:
        try:
            yield event_from_json(json.loads(line))
        except ValueError:
            continue


# ---- the last lines ----


def say_stopped(stopped: StoppedBefore, as_json: bool) -> int:
    if as_json:
        findings = [f.as_json() for f in stopped.inspection.findings]
        print_json({"runs": [], "findings": findings, "stopped_by": [f.id for f in stopped.findings]})
    else:
        print_findings(list(stopped.inspection.findings))
        names = " ".join(f"--accept {name}" for name in sorted({f.id for f in stopped.findings}))
        way = (
            f"Fix the findings above, or ignore one: {names}"
            if stopped.acceptable
            else "This must be fixed first."
        )
        print(f"Not started. {way}", file=sys.stderr)
    return verdict_code(stopped.findings) or CouldNotTell.exit_code


def say_detached(detached: Detached, as_json: bool) -> None:
    if as_json:
        print_json({"runs": [detached.state]})
        return
    run_id = str(detached)
    print(f"{run_id} is running in the background.")
    print(f"  allranks watch {run_id}    follow it")
    print(f"  allranks stop {run_id}     stop it")
    print(f"  allranks report {run_id}   read its report")


def say_end(state: dict[str, Any], options: argparse.Namespace) -> int:
    if "dry_run" in state:
        return say_dry_run(state["dry_run"], options.json)
    if options.json:
        print_json({"runs": [state]})
    else:
        print_summary(state)
        if getattr(options, "smoke", False):
            print("\n".join(next_rung(options, state)))
    return (
        0
        if state.get("state") == "succeeded"
        else CouldNotTell.exit_code
        if state.get("state") in ("lost", NOT_SEEN)
        else 1
    )


def describe(inspection: Inspection) -> dict[str, Any]:
    """The commands that would run: per node the command and its environment."""
    from allranks.launch import jobs
    from allranks.node import bundle
    from allranks.runs.inspection import python_of

    run = inspection.run
    places = {}
    for facts in inspection.facts:
        home = str(facts.get("system.allranks_home", "~/.allranks"))
        activated = inspection.activated.get(facts.node)
        python = activated.python if activated is not None else python_of(run)
        user = text(facts.get("system.user.home"))
        places[facts.node] = jobs.NodePaths(home, bundle.path_in(home), python, user_home=user)
    made = jobs.make(run, inspection.plan, "RUN-ID", places, run.network.rendezvous_port)
    shown = ("argv", "env", "cwd", "files")
    nodes = [{"node": j.node.name, **{key: j.job[key] for key in shown}} for j in made]
    return {
        "nodes": nodes,
        "findings": [f.as_json() for f in inspection.findings],
        "exit_code": verdict_code(inspection.findings, run.accept),
        "_findings": list(inspection.findings),
    }


def say_dry_run(described: dict[str, Any], as_json: bool) -> int:
    findings = described.pop("_findings")
    if as_json:
        print_json({"runs": [], **described})
        return described["exit_code"]
    import shlex

    from allranks.plan import trainer

    print_findings(findings)
    for node in described["nodes"]:
        print(spelt_out(f"{node['node']}  cd {shlex.quote(node['cwd'])}"))
        for name, value in node["env"].items():
            print(spelt_out(f"    {name}={shlex.quote(value)}"))
        print(spelt_out("    " + shlex.join(node["argv"])))
        for line in node["files"].get(trainer.FILE, "").splitlines():
            print(spelt_out("        " + line))
    print("nothing was started.")
    return described["exit_code"]


# ---- watch ----


def watch_command(options: argparse.Namespace) -> int:
    """The verb `watch`."""
    try:
        state = asyncio.run(watch(options))
    except Detached as detached:
        say_detached(detached, options.json)
        return 0
    return say_end(state, options)


async def watch(options: argparse.Namespace) -> dict[str, Any]:
    run_id = await index.find(options.run)
    async with index.connected_head(run_id) as head:
        with LiveView(name=run_id, quiet=options.json) as view:
            return await until_end(head, run_id, view)
