"""A supervised node without torch: a keeper played by the test, a supervisor, a tree of small processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

from allranks.core import Process
from allranks.node import paths, processes
from allranks.node.secret_store import SecretStore
from allranks.node.supervisor_link import Listener
from allranks.node.temporary_folder import TemporaryFolder
from tests.harness import ROOT, Harness

ACTOR = ROOT / "tests" / "node" / "actor.py"
KEY = bytes(range(32))
SUPERVISE = """
import json, sys
from allranks.node import supervisor
from allranks.node.paths import RunDirectory
order = json.load(sys.stdin)
vars(supervisor).update(order["constants"])
directory = RunDirectory(order["job"]["run_id"])
sys.exit(supervisor.Supervisor(directory, order["job"], bytes.fromhex(order["key"]), order["secrets"]).run())
"""
QUICK = {"SECOND": 0.2, "SETTLE_SECONDS": 0.3, "LAST_WORDS_SECONDS": 30.0}
"""So that tests need not wait for a supervisor's second, nor lose its last words on a busy machine: nothing but
these three is other than on a node."""

BESIDE = ("sample", "kernel")
"""What a supervisor tells between other events, whenever that may be: every 5 s, and what the kernel had to say."""


class SupervisedNode(Harness):
    """One run on one node. `tree` makes a command, `supervise` starts it, `alive` says who lives."""

    seconds = 40.0

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.run_id = "t" + uuid.uuid4().hex[:10]
        self.directory = paths.RunDirectory(self.run_id)
        self.node = self.directory.node("node-0")
        self.pids = folder / "pids"
        self.pids.mkdir()
        self.listener = Listener(KEY, "127.0.0.1")
        self.events: list[dict] = []
        self.messages: list[dict] = []
        self.lease: float | None = 30.0
        self.orders: list[dict] = []
        self.stopping = False
        self.supervisor: subprocess.Popen | None = None
        self.daemons: list[Process] = []
        self.thread = threading.Thread(target=self._keep, daemon=True)
        self.thread.start()

    # ---- the keeper ----

    def _keep(self):
        next_lease = 0.0
        while not self.stopping:
            for message in self.listener.poll(0.02):
                if message.kind == "joined":
                    next_lease = 0.0
                if message.kind == "message":
                    self.messages.append(message.data)
                    if "event" in message.data:
                        self.events.append(message.data["event"])
            lease = self.lease  # the test may take it away between two looks at it
            if lease and time.monotonic() >= next_lease:
                self.listener.send("node-0", {"lease": lease})
                next_lease = time.monotonic() + 0.1
            while self.orders and self.listener.send("node-0", self.orders[0]):
                self.orders.pop(0)

    def say(self, **order):
        self.orders.append(order)

    def wait_for(self, kind, seconds=40.0, count=1):
        """The data of the `count`th event of a kind that the keeper has heard."""

        def found():
            heard = [event for event in self.events if event["kind"] == kind]
            return heard[count - 1] if len(heard) >= count else None

        return self.until(
            found,
            lambda: f"{kind}; heard {self.events}; {paths.read_text(self.node.supervisor_log)}",
            seconds,
        )

    # ---- the node ----

    def tree(self, **spec):
        return [sys.executable, "-I", "-S", str(ACTOR), str(self.pids), json.dumps(spec)]

    def job(self, argv, **more):
        job = {
            "run_id": self.run_id,
            "node": "node-0",
            "node_rank": 1,
            "ranks": [0],
            "world_size": 1,
            "keeper": {"host": "127.0.0.1", "port": self.listener.port},
            "argv": argv,
            "env": {},
            "secrets": [],
            "cwd": self.node.work,
            "grace_seconds": 0.4,
            "lease_seconds": 30,
            "beat_seconds": 1.0,
            "files": {},
        }
        return {**job, **more}

    def order(self, job, secrets=None):
        return {"job": job, "key": KEY.hex(), "secrets": secrets or {}}

    def supervise(self, argv, values=None, start=True, constants=QUICK, **more):
        """Starts a supervisor (not detached) and, by default, its torchrun."""
        self.directory.create(node="node-0")
        with open(self.node.supervisor_log, "ab") as log:
            self.supervisor = self.begin(
                [sys.executable, "-c", SUPERVISE], stdin=subprocess.PIPE, stderr=log, start_new_session=True
            )
        assert self.supervisor.stdin
        order = {**self.order(self.job(argv, **more), values), "constants": constants}
        self.supervisor.stdin.write(json.dumps(order).encode())
        self.supervisor.stdin.close()
        if start:
            self.say(start=0)
        return self.supervisor

    def process(self, name) -> Process:
        """The process that the actor of this name became; waits for it."""
        path = self.pids / name
        self.until(path.exists, lambda: f"{name} to begin; {paths.read_text(self.node.torchrun_log)}")
        data = json.loads(path.read_text())
        return Process("node-0", data["pid"], data["start_time"], processes.boot_id(), self.run_id)

    def session(self, name):
        self.process(name)
        return json.loads((self.pids / name).read_text())["session"]

    def alive(self, *names):
        """Which of these live; of all that have begun when none is named."""
        names = names or tuple(path.name for path in self.pids.iterdir())
        return sorted(name for name in names if processes.still(self.process(name)))

    def kinds(self):
        """The journal's kinds in their order, without those that come when they come."""
        return [event.kind for event in self.journal() if event.kind not in BESIDE]

    def heard(self):
        """The same of what the keeper has heard."""
        return [event["kind"] for event in self.events if event["kind"] not in BESIDE]

    def journal(self, kind=None):
        events = paths.read_events(self.node.journal)[0]
        return [event for event in events if kind in (None, event.kind)]

    def recorded(self, *names):
        """Waits until the supervisor has written these down."""

        def done():
            lines = paths.Tail(self.node.processes).read()
            seen = {(line["pid"], line["start_time"]) for line in lines}
            return all((p.pid, p.start_time) in seen for p in map(self.process, names))

        self.until(done, f"{names} in processes.jsonl")

    def stranger(self, argv=("sleep", "60"), **env):
        """A process that is none of the run's, whatever its environment says."""
        return self.begin(argv, env={**os.environ, **env}, start_new_session=True)

    def gone(self, process, seconds=40.0):
        """Whether the process has ended within the time."""
        try:
            return self.until(lambda: not processes.still(process), seconds=seconds)
        except AssertionError:
            return False

    def close(self):
        self.stopping = True
        self.thread.join(5)
        self.listener.close()
        for path in self.pids.iterdir():
            if not path.name.endswith(".new"):
                processes.signal(self.process(path.name), signal.SIGKILL)
        for daemon in self.daemons:
            processes.signal(daemon, signal.SIGTERM)
        for daemon in self.daemons:
            self.gone(daemon)
            processes.signal(daemon, signal.SIGKILL)
        super().close()
        SecretStore(self.directory, "node-0").destroy()
        TemporaryFolder(self.node).remove(os.geteuid())
