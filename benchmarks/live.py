"""`allranks diagnose --live` beside plain torchrun jobs that hang: is it the right rank, how soon, at what cost?

Three nodes of the rig, one rank of real torch each, started by torchrun as a person does. LIVE_SEEDS="1 2" measures
some seeds alone.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks._live_job import KINDS, LiveJob, cut, diagnose, end
from tests.rig.rig import STATE, Rig, only_one

TITLE = "Whom the ranks wait for, in plain torchrun jobs that hang now"
SEEDS = [int(word) for word in os.environ.get("LIVE_SEEDS", "1 2 3 4 5").split()]
NODES = "node[1-3]"
LOOKS = 6
"""At a healthy job, for each seed."""


class Trial(NamedTuple):
    seed: int
    kind: str
    rank: int
    named: int | None
    node: str | None
    cause: str
    confidence: str
    seconds: float
    blind: str
    """What `--no-stacks` says just after: `right`, `unproven` or `wrong`."""

    @property
    def right(self) -> bool:
        return self.named == self.rank and self.node == f"node{self.rank + 1}"


class Healthy(NamedTuple):
    """`looked` and `alone`: milliseconds a step while a look goes on, and in the same time just before it."""

    code: int
    seconds: float
    looked: float
    alone: float


def measure() -> str:
    if os.geteuid():
        return "The rig needs root: nothing was measured."
    trials: list[Trial] = []
    healthy: list[Healthy] = []
    for seed in SEEDS:
        with only_one(), Rig(3, shared=[sys.prefix, sys.base_prefix]) as rig:
            one_seed(rig, seed, trials, healthy)
    return page(trials, healthy)


def one_seed(rig: Rig, seed: int, trials: list[Trial], healthy: list[Healthy]) -> None:
    chance = random.Random(seed)
    rank = {kind: chance.randrange(3) for kind in KINDS}
    words = ["--wait", f"{chance.choice((20, 50, 100)) / 1000}", "--workers", str(seed % 2 * 2)]

    def look(kind: str, number: int) -> None:
        _, answer, seconds = diagnose(rig, NODES)
        where, _, blind = answer["where"], *diagnose(rig, NODES, "--no-stacks")[:2]
        found = blind["where"]["rank"] == number and blind["where"]["node"] == f"node{number + 1}"
        said = "unproven" if blind["cause"] == "unproven" else "right" if found else "wrong"
        told = where["rank"], where["node"], answer["cause"], answer["confidence"]
        trials.append(Trial(seed, kind, number, *told, seconds, said))
        print(trials[-1], flush=True)

    with LiveJob(rig, STATE / "nfs" / "live", *words) as job:
        job.wait()
        healthy += [at_work(rig, job) for _ in range(LOOKS)]
        for kind, begin, over in recoverable(rig, job, rank):
            begin()
            job.wait_for_standstill()
            time.sleep(chance.uniform(1.0, 6.0))
            look(kind, rank[kind])
            over()
            job.wait()
        job.file(rank["another collective"], "other")
        job.wait_for_standstill()
        look("another collective", rank["another collective"])
    gone(rig, seed, rank["gone"], lambda: look("gone", rank["gone"]), words)


Fault = tuple[str, Callable[[], object], Callable[[], object]]


def recoverable(rig: Rig, job: LiveJob, rank: dict[str, int]) -> list[Fault]:
    """(kind, what begins it, what ends it) of the faults after which a job goes on."""
    pid = job.pids()[rank["stopped"]]
    sleeps, loads, node = rank["sleeping"], rank["in its data loader"], rank["cut link"] + 1
    return [
        ("stopped", lambda: os.kill(pid, signal.SIGSTOP), lambda: os.kill(pid, signal.SIGCONT)),
        ("sleeping", lambda: job.file(sleeps, "sleep"), lambda: job.file(sleeps, "")),
        ("in its data loader", lambda: job.file(loads, "data"), lambda: job.file(loads, "")),
        ("cut link", lambda: cut(rig, node), lambda: cut(rig, node, False)),
    ]


def gone(rig: Rig, seed: int, rank: int, look: Callable[[], None], words: list[str]) -> None:
    """Three ways, by the seed: it left before the others met; it died behind a link that is cut; its machine is off."""
    folder = STATE / "nfs" / "gone"
    if seed % 3 == 1:
        with LiveJob(rig, folder, *words, "--leave", str(rank)) as job:
            wait_for(lambda: len(job.pids()) == 3)
            wait_for(lambda: rank not in job.pids())
            time.sleep(5.0)
            look()
        return
    with LiveJob(rig, folder, *words) as job:
        job.wait()
        cut(rig, rank + 1)
        if seed % 3 == 2:
            pids = [job.pids()[rank]]
            parent = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
            for pid in (parent, *pids):
                end(pid, str(folder))
        else:
            rig.power_off(rank + 1)
        time.sleep(3.0)
        look()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError("the rank does not leave")
        time.sleep(0.2)


def at_work(rig: Rig, job: LiveJob) -> Healthy:
    """One look at a job that is well. This program's own start, which costs more than all that is done on the nodes,
    yields to the ranks, as if it was on another machine."""
    before = time.monotonic()
    time.sleep(5.0)
    began = time.monotonic()
    code, _, seconds = diagnose(rig, NODES, nice=True)
    ended = time.monotonic()
    return Healthy(code, seconds, per_step(job, began, ended), per_step(job, before, began))


def per_step(job: LiveJob, began: float, ended: float) -> float:
    """Milliseconds a step; the median, since this machine does other things too."""
    times = [at for at in job.steps() if began <= at <= ended]
    gaps = [1000 * (after - at) for at, after in itertools.pairwise(times)]
    return statistics.median(gaps) if gaps else float("nan")


def page(trials: list[Trial], healthy: list[Healthy]) -> str:
    lines = [
        "| fault | right rank and node | certain | seconds, median | longest | --no-stacks: right, unproven, wrong |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        mine = [trial for trial in trials if trial.kind == kind]
        if not mine:
            continue
        times = [trial.seconds for trial in mine]
        right, sure = sum(t.right for t in mine), sum(t.confidence == "certain" for t in mine)
        middle = statistics.median(times)
        blind = ", ".join(str(sum(t.blind == word for t in mine)) for word in ("right", "unproven", "wrong"))
        lines.append(
            f"| {kind} | {right} of {len(mine)} | {sure} | {middle:.1f} | {max(times):.1f} | {blind} |"
        )
    right = sum(trial.right for trial in trials)
    wrong = [trial for trial in trials if not trial.right]
    sure = [trial for trial in wrong if trial.confidence == "certain"]
    soon = sum(trial.seconds <= 10.0 for trial in trials)
    lines.append(
        f"\nThe right rank in **{right} of {len(trials)}** (aim ≥ 95 %), certain and wrong in {len(sure)}; within 10 s "
        f"in {soon}. Three nodes in namespaces, each with its own network and sshd, one rank of torch over gloo each,"
        " without py-spy; the command's own start is in the seconds."
    )
    for trial in wrong:
        lines.append(
            f"- seed {trial.seed}, {trial.kind}: rank {trial.rank}; said {trial.cause}, {trial.confidence}, rank "
            f"{trial.named}, {trial.node}"
        )
    ratios = [one.looked / one.alone for one in healthy]
    fine = sum(one.code == 0 for one in healthy)
    lines.append(
        f"\nLooks at the same jobs while they were well: exit code 0 in {fine} of {len(healthy)}. A step while a look "
        f"goes on, against the 5 s before it: **{statistics.median(ratios):.3f}** (median of {len(ratios)} pairs, "
        f"{min(ratios):.3f} to {max(ratios):.3f}; aim ≤ 1.01)."
    )
    return "\n".join(lines)
