"""`allranks ui` as a desk serves it, asked by curl from the same place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.harness.desk import Desk


class LivePage:
    """The page of one run, until the block ends."""

    def __init__(self, desk: Desk, run_id: str):
        self.desk, self.run_id = desk, run_id

    def __enter__(self) -> LivePage:
        pipe = subprocess.PIPE
        self.server = self.desk.begin(self.desk.command("ui", self.run_id), stdout=pipe, text=True)
        assert self.server.stdout is not None
        self.address = self.server.stdout.readline().strip()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ):
        # nsenter that has entered a PID namespace does not hand a signal on: the page is its child.
        process = Path(f"/proc/{self.server.pid}")
        outer = (process / "comm").read_text().strip() == "nsenter"
        children = (process / f"task/{self.server.pid}/children").read_text().split()
        os.kill(int(children[0]) if outer and children else self.server.pid, signal.SIGTERM)
        self.server.communicate(timeout=60)

    def ask(self, what: str, *words: str) -> str:
        address = f"{self.address}api/run/{self.run_id}/{what}"
        command = self.desk.place(["curl", "-sN", "-m", "4", *words, address])
        return subprocess.run(command, capture_output=True, text=True, timeout=200).stdout

    def newest(self, wanted: Callable[[dict[str, Any]], Any]) -> Any:
        """What `wanted` takes from the newest message in which it finds anything."""

        def found() -> Any:
            lines = self.ask("events").splitlines()
            told = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
            return next(filter(None, map(wanted, reversed(told))), None)

        return self.desk.until(found)

    def ranks(self) -> dict[str, Any]:
        """The newest table of ranks that the page was sent, once the ranks train."""
        return self.newest(
            lambda told: told.get("ranks") if any(told.get("ranks", {}).get("step", ())) else None
        )

    def stacks(self) -> list[dict[str, Any]]:
        """The ranks by the place that they are at, once all stacks were read."""
        return self.newest(lambda told: (told.get("stacks") or {}).get("groups"))

    def stop(self) -> dict[str, Any]:
        body = json.dumps({"name": self.run_id})
        said = self.ask("stop", "-H", "content-type: application/json", "-m", "120", "-d", body)
        return json.loads(said)
