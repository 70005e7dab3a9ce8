"""The pages of what starting the supervisors by an engine can find."""

from __future__ import annotations

PAGES: dict[str, str] = {
    "engine-failed": """The launcher of `launch.with` did not start a supervisor on every node.

What it looks at
  Its own output and exit code on the head, and whether a supervisor waits on each node.

Why it matters
  A run needs every node. What had been started is stopped again, and nothing of the run is left.

What to do
  The finding names the node where the launcher's own words do, and quotes them. The same program by hand on
  the head (`pdsh -R ssh -w NODE true`, `mpirun --host NODE hostname`) shows the same.
""",
}


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> str:
    """One finding's page. Raises KeyError for an unknown id."""
    return f"{name}\n\n{PAGES[name]}"
