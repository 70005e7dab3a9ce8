"""The pages of the findings about starting the supervisors by an engine."""

from __future__ import annotations

from allranks.core.pages import Page, parse

PAGES: dict[str, str] = {
    "engine-failed": """The launcher of `launch.with` did not start a supervisor on every node.

## How it is found
Its own output and exit code on the head, and whether a supervisor waits on each node.

## Why it matters
A run needs every node. allranks stops what it had started, and nothing of the run is left.

## What to do
The finding quotes the launcher's message, and names the node if the message does. The same program by hand on
the head (`pdsh -R ssh -w NODE true`, `mpirun --host NODE hostname`) shows the same.

Topic: start
""",
}

SOURCE = "The launcher's exit code and output on the head."


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> Page:
    """The page of an id. Raises KeyError for an unknown one."""
    return parse(name, PAGES[name], source=SOURCE)
