"""Draws docs/picture.svg from the journal of the newest run on this machine that succeeded."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from allranks.core import Event, event_from_json
from allranks.node.paths import RunDirectory, home, read_events
from allranks.output.picture import write_svg
from allranks.runs.index import all_runs

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "picture.svg"


def as_at_home(event: Event) -> Event:
    """The paths of this machine's allranks home as those of anybody's."""
    text = json.dumps(event.as_json()).replace(home(), "~/.allranks")
    return event_from_json(json.loads(text))


def main() -> int:
    runs = [run for run in asyncio.run(all_runs()) if run["state"] == "succeeded"]
    if not runs:
        print("no run has succeeded here yet: make demo", file=sys.stderr)
        return 1
    events, _ = read_events(RunDirectory(runs[0]["id"]).keeper.journal)
    write_svg([as_at_home(event) for event in events], str(PICTURE))
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
