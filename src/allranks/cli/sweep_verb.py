"""`run` for a file with a `sweep`: all its runs as one job array, reported in lines."""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial
from typing import Any

from allranks.cli.common import print_json
from allranks.cli.run_verbs import again, journal, status, status_or_nothing, until_stopped
from allranks.core import Blocked, Event
from allranks.core.text import spelt_out
from allranks.output.table import print_runs
from allranks.runs.allocation import Acquired
from allranks.runs.controller import StoppedBefore, submit
from allranks.runs.sweep import One, all_of
from allranks.spec import Run


def sweep_command(run: Run, options: argparse.Namespace) -> int:
    """Runs the sweep. Ctrl-C cancels the tasks that have not begun; those that run continue."""

    def tell(one: One, run_id: str, event: Event) -> None:
        if not options.json and event.kind == "phase":
            why = event.data.get("why") or ""
            print(spelt_out(f"{run_id}  {one}  {event.data.get('phase')} {why}".rstrip()), file=sys.stderr)

    async def work(acquired: Acquired, one: One) -> dict[str, Any]:
        return await started(acquired, one, options, tell)

    states = asyncio.run(until_stopped(all_of(run, tell, partial(again, options), work)))
    if options.json:
        print_json({"runs": states})
    else:
        print_runs(states)
        for state in states:
            if state["state"] is None:
                print(spelt_out(f"{state['id']}  {state['why']}"), file=sys.stderr)
    fine = ("starting", "running", "succeeded") if options.detach else ("succeeded",)
    return 0 if all(state.get("state") in fine for state in states) else 1


async def started(acquired: Acquired, one: One, options: argparse.Namespace, tell: Any) -> dict[str, Any]:
    """Runs one task, from its nodes to its end, or to its start with --detach. Returns the state."""
    run, run_id = acquired.run, str(acquired.run_id)
    try:
        hear = partial(tell, one, run_id)
        await submit(acquired.nodes, run, hear, options.probe, run_id)
    except BaseException as error:
        await asyncio.shield(acquired.release())
        if isinstance(error, StoppedBefore):
            findings = [f.as_json() for f in error.findings]
            return {"id": run_id, "name": run.name, "state": None, "why": str(error), "findings": findings}
        if isinstance(error, Blocked):  # called off by `allranks stop`; the other tasks continue
            return {"id": run_id, "name": run.name, "state": "stopped", "why": str(error)}
        raise
    head = acquired.nodes[run.cluster.head.name]
    try:
        if options.detach:
            return {"id": run_id, "state": "starting", **await status_or_nothing(head, run_id)}
        async for _event in journal(head, run_id):
            pass
        return await status(head, run_id)
    finally:
        await acquired.nodes.close()
