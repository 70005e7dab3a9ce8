"""`allranks top`: follows the journals of all active runs and shows them side by side."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from rich.console import Group
from rich.live import Live

from allranks.cli.common import print_json
from allranks.cli.metrics_verb import follow
from allranks.output import top
from allranks.output.console import Out
from allranks.output.metrics import Followed

EVERY_SECONDS = 5.0
"""The time between two searches for new runs."""


def top_command(options: argparse.Namespace) -> int:
    runs: dict[str, Followed] = {}
    out = Out()
    once = options.once or options.json or not out.live
    with contextlib.suppress(KeyboardInterrupt), screen(out, runs, once):
        asyncio.run(follow(options.runs, runs, once, EVERY_SECONDS, lambda: None, say=nobody))
    if options.json:
        print_json(top.as_json(list(runs.values())))
    elif once:
        for line in top.frame(out, list(runs.values())):
            out.console.print(line, soft_wrap=True)
    return 0


def screen(out: Out, runs: dict[str, Followed], once: bool) -> contextlib.AbstractContextManager[object]:
    """Uses the whole terminal window, and restores it at the end."""
    if once:
        return contextlib.nullcontext()
    said = "Ctrl-C ends this view; the runs continue.  allranks watch RUN shows one of them"

    def draw() -> Group:
        lines = top.frame(out, list(runs.values()), out.console.height - 2)
        return Group(*lines, out.text(), out.text((said, "dim")))

    return Live(get_renderable=draw, console=out.console, screen=True, refresh_per_second=2)


def nobody(said: str) -> None:
    """Ignores the message. The table shows a head that does not answer; a separate line would break the table."""
