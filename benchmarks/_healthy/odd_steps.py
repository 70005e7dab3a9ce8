"""Odd but healthy: steps that are not alike, and what takes long between them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from random import Random
from typing import Any

from benchmarks._healthy.odd import STILL, Odd, named


class Plain(Odd):
    """nothing odd at all"""


# ---- one thing takes long ----


class GilBusy(Odd):
    """one call keeps Python's lock and the processor"""

    lasts, may = (62.0, 75.0), (*STILL, "rank-silent")

    def begin(self, loop: Any) -> None:
        held = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)  # no other thread gets the lock in between
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            sum(range(600_000))
        sys.setswitchinterval(held)


class GilAsleep(Odd):
    """one call keeps Python's lock and waits"""

    lasts, may = (20.0, 45.0), (*STILL, "rank-silent")

    def begin(self, loop: Any) -> None:
        # PyDLL keeps the lock in its calls.
        ctypes.PyDLL(None).usleep(int(self.seconds * 1e6))


class SlowRank(Odd):
    """a rank is ten times slower for a while"""

    lasts, may = (20.0, 40.0), ("straggler", *STILL)

    def begin(self, loop: Any) -> None:
        loop.pace *= 10

    def end(self, loop: Any) -> None:
        loop.pace /= 10


class LongStep(Odd):
    """a long step on all ranks that nothing tells"""

    lasts, may, who = (20.0, 50.0), STILL, "all"

    def begin(self, loop: Any) -> None:
        time.sleep(self.seconds)


class Told(Odd):
    phase = ""
    """What a hook tells meanwhile."""

    def begin(self, loop: Any) -> None:
        entered = loop.rank.enter(self.phase)
        time.sleep(self.seconds)
        loop.rank.leave(entered)


class CompileOne(Told):
    """one rank compiles a graph again"""

    lasts, phase = (30.0, 60.0), "compiling"


class CompileAll(Told):
    """all ranks compile a graph again"""

    lasts, phase, who = (30.0, 60.0), "compiling", "all"


class EvaluateAlone(Told):
    """rank 0 evaluates, the others wait"""

    lasts, phase, who = (35.0, 55.0), "evaluating", "first"


class SaveLong(Told):
    """rank 0 writes a checkpoint for long"""

    lasts, phase, who = (25.0, 50.0), "saving", "first"


class FirstStep(Odd):
    """a first step of 30 s and more"""

    lasts, who = (30.0, 50.0), "all"

    def prepare(self) -> None:
        self.at = 0

    def begin(self, loop: Any) -> None:
        time.sleep(self.seconds)


class LateRank(Odd):
    """a rank imports for long while the others wait"""

    lasts = (30.0, 45.0)

    def early(self) -> None:
        time.sleep(self.seconds)
        self.seconds = 0.0


class WorksOn(Odd):
    """a rank works on alone after the end"""

    lasts = (20.0, 40.0)

    def begin(self, loop: Any) -> None:
        self.seconds, seconds = 0.0, self.seconds
        loop.at_the_end.append(lambda: time.sleep(seconds))


class StoppedAWhile(Odd):
    """a rank is stopped by a signal and continued"""

    lasts, may = (15.0, 40.0), (*STILL, "rank-silent")

    def begin(self, loop: Any) -> None:
        code = "import os, sys, time; time.sleep(float(sys.argv[1])); os.kill(int(sys.argv[2]), 18)"
        words = [sys.executable, "-I", "-S", "-c", code, str(self.seconds), str(os.getpid())]
        child = subprocess.Popen(words)
        os.kill(os.getpid(), signal.SIGSTOP)
        child.wait()


# ---- steps that are not alike ----


class Uneven(Odd):
    """batches of very different length on every rank"""

    lasts, who = (40.0, 50.0), "all"

    def begin(self, loop: Any) -> None:
        own = Random(f"{self.at} {loop.number}")
        loop.compute = lambda: time.sleep(min(6.0, loop.pace * own.lognormvariate(0.0, 1.0)))

    def end(self, loop: Any) -> None:
        del loop.compute


class Hiccups(Odd):
    """the data loader stalls for seconds, again and again"""

    lasts, may = (40.0, 50.0), ("waits-for-data", "straggler", *STILL)

    def begin(self, loop: Any) -> None:
        own, plain = Random(self.at), loop.compute

        def compute() -> None:
            loop.fetch_seconds = own.uniform(6.0, 10.0) if own.random() < 0.1 else 0.0
            plain()

        loop.compute = compute

    def end(self, loop: Any) -> None:
        loop.fetch_seconds = 0.0
        del loop.compute


class Accumulation(Odd):
    """every eighth step is forty times as long"""

    lasts, who = (45.0, 60.0), "all"

    def prepare(self) -> None:
        self.at = 0

    def begin(self, loop: Any) -> None:
        loop.compute = lambda: time.sleep(loop.pace * (40 if loop.step % 8 == 7 else 1))

    def end(self, loop: Any) -> None:
        del loop.compute


class ShortSteps(Odd):
    """thousands of steps a second"""

    lasts, who = (8.0, 12.0), "all"

    def begin(self, loop: Any) -> None:
        def compute() -> None:
            for _ in range(100):  # between two meetings, which are ours and cost more than such a step
                loop.step += 1
                loop.rank.end_step(loop.step, 1e-3, loop.loss())
                loop.rank.release()
            time.sleep(0.02)

        loop.compute = compute

    def end(self, loop: Any) -> None:
        del loop.compute


class Losses(Odd):
    """losses that are negative, zero, large or missing"""

    who = "all"

    def begin(self, loop: Any) -> None:
        values = [-3.0, 0.0, 1e-38, 40.0, None, -0.0, 7]
        loop.loss = lambda: values[loop.step % len(values)]


class Flicker(Odd):
    """phases that begin and end fifty times a second"""

    lasts, who, apart = (15.0, 20.0), "all", True

    def begin(self, loop: Any) -> None:
        def compute() -> None:
            for phase in ("evaluating", "saving", "compiling", "loading") * 5:
                entered = loop.rank.enter(phase)
                time.sleep(0.02)
                loop.rank.leave(entered)

        loop.compute = compute

    def end(self, loop: Any) -> None:
        del loop.compute


class SecondTraining(Odd):
    """a second training in the same process"""

    who, apart = "all", True

    def begin(self, loop: Any) -> None:
        loop.rank.reach("done")
        time.sleep(2.0)
        loop.step = loop.rank.step = 0
        loop.rank.reach("training")
        loop.rank.begin()


class MoreSteps(Odd):
    """more steps than it had announced"""

    who = "all"

    def prepare(self) -> None:
        self.at = 0

    def begin(self, loop: Any) -> None:
        loop.rank.total_steps = 20


STEPS = named(globals())
