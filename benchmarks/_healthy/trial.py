"""One odd but healthy run in namespaces of its own: begun by `python -m benchmarks._healthy.trial KIND SEED
AFTER`.

It has its own processes, network, mounts, /tmp, /dev/shm and home, so that what a run leaves is all that is there after
it, and an end of the trial is an end of all that it began. Prints its outcome as a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._healthy.odd import Odd
from benchmarks._healthy.odd_process import PROCESS
from benchmarks._healthy.odd_steps import STEPS
from benchmarks._healthy.outside import NODES, OUTSIDE, Outside
from benchmarks._healthy.outside_nodes import NODES_OWN
from benchmarks._healthy.spaces import apart, files_left, outcome_of, processes_left

HERE = Path(__file__).resolve().parent
RANK = HERE / "rank.py"
INSIDE: dict[str, type[Odd]] = {**STEPS, **PROCESS}
BESIDE: dict[str, type[Outside]] = {**OUTSIDE, **NODES_OWN}
KINDS: dict[str, type[Odd] | type[Outside]] = {**INSIDE, **BESIDE}

START_SECONDS = 150.0
END_SECONDS = 150.0
LATE_SECONDS = 120.0
"""An odd thing may take so much longer than drawn, on a machine that is busy."""

AFTER_SECONDS = 16.0
"""How long the run trains on after what was odd: a stall is told within 15 s."""

AFTER_STEPS = 10
LEFT_SECONDS = 20.0
TRIAL_SECONDS = 600.0
HOME = ("bundles", "cache", "index", "runs")
"""What may stay in a home."""

SAID = ("warn", "block")


@dataclass
class Outcome:
    kind: str
    seed: int
    drawn: str = ""
    apart: bool = False
    trained: bool = False
    """Whether every rank came to its end by itself, after what was odd."""
    code: int | None = None
    state: str = ""
    errors: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    """Warnings that say nothing true of this kind."""
    said: list[str] = field(default_factory=list)
    """Warnings that do."""
    left: list[str] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    load: float = 0.0
    printed: str = ""
    """What `allranks run` printed, if something is wrong."""
    trouble: str = ""
    """Why the trial itself could not be made."""


class Ended(Exception):
    """The run is over before its time."""


class Trial:
    def __init__(self, kind: str, seed: int, after: float = AFTER_SECONDS):
        self.after = after
        self.outcome = Outcome(kind, seed)
        draw = Random(f"{kind} {seed}")
        self.inside = INSIDE[kind](draw, NODES) if kind in INSIDE else None
        self.outside = BESIDE[kind](draw) if kind in BESIDE else None
        odd = self.inside or self.outside
        assert odd is not None
        self.outcome.drawn, self.outcome.apart, self.may = odd.drawn, odd.apart, odd.may
        self.seconds = odd.seconds
        self.id, self.began = "", time.monotonic()

    # ---- the places ----

    def stage(self, stack: contextlib.ExitStack) -> None:
        """The desk, and with it the rig where the kind needs nodes of their own."""
        from tests.harness.desk import LIGHT, Desk

        self.rig: Any = None
        env = {"PYTHONPATH": str(LIGHT)}
        if self.outside is not None and self.outside.rig:
            from tests.harness.on_rig import RigDesk
            from tests.rig.rig import ROOT, STATE, Rig

            self.rig = stack.enter_context(Rig(NODES, shared=[sys.prefix, sys.base_prefix, *interpreters()]))
            self.folder = STATE / "nfs"
            self.desk: Any = RigDesk(self.rig, Path("/tmp/desk"), {"PYTHONPATH": str(ROOT / "src")})
        else:
            self.folder = Path("/tmp/trial")
            user = Path("/tmp/desk/user")
            user.mkdir(parents=True)
            self.folder.mkdir()
            self.desk = Desk(Path("/tmp/desk"), {"HOME": str(user)})
            if getattr(self.outside, "clocks", False):
                env |= self.false_clocks()
                self.desk.environment |= {k: v for k, v in env.items() if k != "PYTHONPATH"}
        words = ["--folder", self.folder, "--until", self.folder / "until", "--seed", self.outcome.seed]
        words += ["--odd", self.outcome.kind] if self.inside else []
        self.file = self.desk.file(*words, script=RANK, env=env)
        if self.outside is not None:
            self.outside.before(self)

    def false_clocks(self) -> dict[str, str]:
        Path("/tmp/clocks").mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", "/tmp/clock.so", HERE / "clock.c"], check=True)
        return {"LD_PRELOAD": "/tmp/clock.so", "FALSE_CLOCKS": "/tmp/clocks"}

    def set_clock(self, pid: int, seconds: float) -> None:
        Path("/tmp/clocks", str(pid)).write_text(f"{seconds:.0f}")

    def home_of(self, node: int) -> Path:
        if self.rig is None:
            return self.desk.home
        return Path(f"/proc/{self.rig.init_pid(node + 1)}/root/root/.allranks")

    def run_folder(self, node: int) -> Path:
        return self.home_of(node) / "runs" / self.id

    def node_folder(self, node: int) -> Path:
        name = f"node{node + 1}" if self.rig is not None else f"node-{node}"
        return self.run_folder(node) / "nodes" / name

    def on(self, node: int, command: str) -> None:
        self.rig.run(node + 1, ["sh", "-c", command])

    # ---- its processes; the odd ones need their numbers, and all are this trial's own ----

    def supervisor(self, node: int) -> int:
        return int(json.loads((self.node_folder(node) / "supervisor.json").read_text())["pid"])

    def keeper_port(self) -> int:
        return int(json.loads((self.run_folder(0) / "keeper" / "keeper.json").read_text())["port"])

    def torchrun(self, node: int) -> int:
        supervisor = self.supervisor(node)
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        return next(int(pid) for pid in children if b"torch" in Path(f"/proc/{pid}/cmdline").read_bytes())

    def ranks_of(self, node: int) -> list[int]:
        torchrun = self.torchrun(node)
        return [int(pid) for pid in Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()]

    def processes(self) -> list[int]:
        """All of the run: supervisors, torchruns, ranks."""
        nodes = range(NODES)
        return [pid for n in nodes for pid in (self.supervisor(n), self.torchrun(n), *self.ranks_of(n))]

    # ---- the run ----

    def run(self) -> Outcome:
        with contextlib.ExitStack() as stack:
            try:
                self.stage(stack)
            except Exception as error:
                self.outcome.trouble = f"{type(error).__name__}: {error}"[:400]
                return self.outcome
            self.controller = stack.enter_context(self.started())
            stack.callback(self.controller.kill)
            try:
                self.train()
            except Ended as error:
                self.outcome.errors.append(f"over before its time: {error}")
            except Exception as error:
                self.outcome.trouble = f"{type(error).__name__}: {error}"[:400]
            try:
                self.judge()
            except Exception as error:
                self.outcome.trouble = (
                    self.outcome.trouble or f"judging: {type(error).__name__}: {error}"[:400]
                )
            self.outcome.left = self.left()
        self.outcome.seconds = round(time.monotonic() - self.began, 1)
        return self.outcome

    def started(self) -> subprocess.Popen[bytes]:
        self.printed = Path("/tmp/desk/printed")
        with self.printed.open("wb") as out:
            words = self.desk.command("run", self.file, "--no-probe")  # it would bring up torch's collectives
            quiet = subprocess.DEVNULL
            return subprocess.Popen(words, stdout=out, stderr=out, stdin=quiet, start_new_session=True)

    def until(self, holds: Any, what: str, seconds: float) -> Any:
        """Waits for a state, for so long. A run that is over first ends the wait."""
        deadline = time.monotonic() + seconds
        while not (answer := holds()):
            if self.ended():
                raise Ended(self.last_words())
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds:.0f} s: {what}; {self.last_words()}")
            time.sleep(0.2)
        return answer

    def ended(self) -> bool:
        """Whether a rank is gone, or the controller by itself."""
        code = self.controller.poll()
        return (code is not None and code >= 0) or any(self.folder.glob("ended-*"))

    def last_words(self) -> str:
        return " ".join(self.printed.read_text(errors="replace").split())[-300:]

    def step(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "step").read_text())
        return 0

    def train(self) -> None:
        self.until(lambda: self.step() >= 3 or self.is_early(), "the first steps", START_SECONDS)
        self.id = next((self.home_of(0) / "runs").iterdir()).name
        self.outcome.load = round(os.getloadavg()[0], 1)
        if self.outside is not None:
            time.sleep(self.outside.wait)
            self.outside.act(self)
        elif self.inside is not None:
            marks = [self.folder / f"odd-{rank}" for rank in self.inside.ranks]
            limit = self.inside.seconds + LATE_SECONDS
            self.until(lambda: all(mark.exists() for mark in marks), "the odd thing", limit)
        begun, at = self.step(), time.monotonic()
        # A second training begins its steps anew.
        self.until(lambda: self.step() != begun, "a step after it", LATE_SECONDS)
        begun = min(begun, self.step())
        self.until(
            lambda: self.step() >= begun + AFTER_STEPS and time.monotonic() > at + self.after,
            "steps after it",
            LATE_SECONDS,
        )
        (self.folder / "until").touch()
        self.wait_for_the_end()

    def is_early(self) -> bool:
        """What is odd may be what holds up the first step."""
        return self.inside is not None and self.inside.at == 0 and any(self.home_of(0).glob("runs/*/keeper"))

    def wait_for_the_end(self) -> None:
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline:
            if all((self.folder / f"ended-{n}").exists() for n in range(NODES)):
                self.outcome.trained = True
                break
            time.sleep(0.2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.controller.wait(max(10.0, deadline - time.monotonic()))

    # ---- what came of it ----

    def judge(self) -> None:
        outcome = self.outcome
        outcome.step, outcome.code = self.step(), self.controller.poll()
        known = json.loads(self.desk("ps", "--json", "--all").stdout or "{}").get("runs") or []
        outcome.state = next((str(run["state"]) for run in known if run["id"] == self.id), "")
        wanted = 0 if self.outside is None else self.outside.code
        if wanted is not None and outcome.code != wanted:
            outcome.errors.append(f"exit code {outcome.code}: {self.last_words()}")
        if wanted is not None and outcome.state != "succeeded":
            outcome.errors.append(f"the run is {outcome.state or 'not known'}")
        if not outcome.trained and not outcome.trouble:
            outcome.errors.append("not every rank came to its end")
        for finding in self.findings():
            where = finding.get("where") or {}
            rank = where.get("rank")
            place = " ".join(filter(None, [where.get("node"), None if rank is None else f"rank {rank}"]))
            text = f"{finding['id']} {place}: {finding['saw']}".strip()[:300]
            if finding["verdict"] == "block":
                outcome.errors.append(text)
            else:
                (outcome.said if finding["id"] in self.may else outcome.alarms).append(text)
        outcome.errors += self.words_of_failure()
        if outcome.errors or outcome.alarms:
            outcome.printed = self.printed.read_text(errors="replace")[-4000:]

    def findings(self) -> list[dict[str, Any]]:
        """All of warn or worse since the launch: from the journal, and from the state where that one cannot be."""
        folder = self.run_folder(0) / "keeper"
        events = []
        with contextlib.suppress(OSError):
            text = (folder / "journal.jsonl").read_text("utf-8", "replace")
            events = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        begun = next((n for n, e in enumerate(events) if e["data"].get("state") == "running"), len(events))
        found = [e["data"] for e in events[begun:] if e["kind"] == "finding"]
        self.outcome.errors += [
            f"diagnosis {e['data'].get('cause')}" for e in events if e["kind"] == "diagnosis"
        ]
        with contextlib.suppress(OSError, ValueError):
            known = {(one["id"], one["saw"]) for one in found}
            state = json.loads((folder / "state.json").read_text())["findings"] if events else []
            found += [
                one
                for one in state
                if one["id"] == "journal-unwritten" and (one["id"], one["saw"]) not in known
            ]
        return [one for one in found if one.get("verdict") in SAID]

    def words_of_failure(self) -> list[str]:
        """What the person at the controller was shown that reads like a failure."""
        lines = self.printed.read_text(errors="replace").splitlines()
        return [
            line.strip()[:200] for line in lines if re.match(r"\s*(error|failed|lost|stopped)\b", line, re.I)
        ]

    def left(self) -> list[str]:
        """Processes and files that nobody needs any more, some seconds after the end. The rig's own run here, too."""
        marks = () if self.rig is None else ("allranks.cli", "ALLRANKS_RUN_ID")
        deadline = time.monotonic() + LEFT_SECONDS
        while (found := processes_left(*marks)) and time.monotonic() < deadline:
            time.sleep(0.3)
        found += files_left(("desk", "trial", "clocks", "clock.so", "rig"))
        if self.rig is None:
            found += [str(p) for p in self.desk.home.iterdir() if p.name not in HOME]
            found += [str(p) for p in Path("/tmp/desk/user").iterdir()]
        return found

    def second_run(self) -> None:
        """Another run of this home, on the same nodes, whose rank fails."""
        from tests.harness.desk import Desk

        with contextlib.ExitStack():
            folder = Path("/tmp/trial/second")
            folder.mkdir()
            other = Desk(folder, self.desk.environment, home=self.desk.home)
            assert other("run", other.light("--steps", 60, "--fault", "raise")).returncode != 0


def interpreters() -> list[str]:
    """Where main's packages lie, if this environment only points to them."""
    return sorted(
        {str(Path(path)) for path in sys.path if path.endswith("site-packages") and Path(path).is_dir()}
    )


def on_rig(kind: str) -> bool:
    """Whether it needs nodes of their own."""
    return kind in BESIDE and BESIDE[kind].rig


def trial(kind: str, seed: int, after: float = AFTER_SECONDS) -> dict[str, Any]:
    """One in namespaces of its own; it trains on for so long after what was odd."""
    made = outcome_of(apart("benchmarks._healthy.trial", kind, str(seed), str(after)), TRIAL_SECONDS)
    return {"kind": kind, "seed": seed, **made}


def main() -> int:
    os.environ["ALLRANKS_RIG"] = "/tmp/rig"
    kind, seed, after = sys.argv[1:]
    print(json.dumps(asdict(Trial(kind, int(seed), float(after)).run())), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
