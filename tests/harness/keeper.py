"""A keeper in this process, against supervisors that only speak the link."""

from __future__ import annotations

import json
import time
from pathlib import Path

from allranks.core import Event
from allranks.node.keeper_link import KeeperLink
from allranks.node.paths import RunDirectory, write_json
from allranks.runs.keeper import Keeper
from allranks.runs.keeper import keep as start_keeper
from tests.harness import Harness, until

KEY = bytes(32)
RUN = "kept-1121-abcd"


class Supervisor:
    """What a supervisor says, without one: a dial and a list of what it was told."""

    def __init__(self, keeper: Keeper, node: str):
        self.dial, self.node = KeeperLink(KEY, "127.0.0.1", keeper.port, node), node
        self.told: list[dict] = []
        assert self.dial.connect(60)

    def say(self, kind: str, rank: int | None = None, **data) -> None:
        event = Event(time.time(), kind, self.node, rank, data)
        self.dial.send({"event": event.as_json()})

    def hear(self, word: str, seconds: float = 40.0) -> dict:

        def heard() -> dict | None:
            self.told += self.dial.poll(0.05)
            return next((message for message in self.told if word in message), None)

        return until(heard, lambda: f"{self.node} was never told {word}: {self.told}", seconds, 0.0)


class KeptRun(Harness):
    """A run that a keeper in this process keeps; its nodes are `both()`."""

    def __init__(self, home: Path, folder: Path, keep: dict | None = None, begin: bool = True, **expect):
        super().__init__(folder)
        self.directory = RunDirectory(RUN, str(home))
        self.directory.create(node="a", keeper=True)
        self.output = folder / "output"
        self.job = {
            "run_id": RUN,
            "node": "a",
            "node_rank": 0,
            "keeper": {"host": "127.0.0.1", "port": 0},
            "grace_seconds": 0.5,
            "lease_seconds": 5,
            "inside": "",
            "env": {},
            "keep": {
                "name": "kept",
                "file": None,
                "nodes": ["a", "b"],
                "join_seconds": 60.0,
                "output_dir": str(self.output),
                "keep": 2,
                "python": "python3",
                "expect": {"world_size": 2, **expect},
                "adapter": None,
                **(keep or {}),
            },
        }
        if begin:
            self.keeper = start_keeper(self.directory, self.job, KEY, {}, lambda root: f"<p>{root}</p>")
        else:
            self.keeper = Keeper(self.directory, self.job, KEY)

    def both(self) -> list[Supervisor]:
        return [Supervisor(self.keeper, name) for name in ("a", "b")]

    def end(self, seconds: float = 60.0) -> dict:
        self.keeper.join(seconds)
        assert not self.keeper.is_alive()
        return json.loads(Path(self.directory.keeper.state).read_text())

    def close(self) -> None:
        write_json(self.directory.keeper.stop, {"at": 0})
        self.keeper.join(60)
        super().close()
