"""Odd but healthy: what a rank prints, does to its process, and writes into its own file."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks._healthy.odd import Odd, named

# ---- what it prints ----


class ScaryWords(Odd):
    """prints that read like faults"""

    who, lasts = "all", (5.0, 8.0)
    lines = (
        "CUDA out of memory. Tried to allocate 20.00 GiB: handled, batch halved",
        "Killed",
        "loss: nan (skipped by the scaler)",
        "RuntimeError: NCCL error: unhandled system error (retried)",
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: caught and logged',
        "Segmentation fault (core dumped)",
        "[rank1]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for 600000 milliseconds",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "slurmstepd: error: Detected 1 oom-kill event(s)",
        "No space left on device",
        "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    )

    def begin(self, loop: Any) -> None:
        for line in self.draw.sample(self.lines, 7):
            print(line, file=self.draw.choice((sys.stdout, sys.stderr)), flush=True)


class ThreadException(Odd):
    """threads end by an exception"""

    def begin(self, loop: Any) -> None:
        threads = [threading.Thread(target=lambda: [][1], daemon=n % 2 == 0) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class LongLine(Odd):
    """a line of 50 to 100 MB, and no newline"""

    def begin(self, loop: Any) -> None:
        for _ in range(self.draw.randint(50, 100)):
            sys.stdout.write("=" * (1 << 20))
        sys.stdout.flush()


class ManyLines(Odd):
    """a million lines at once"""

    def begin(self, loop: Any) -> None:
        for number in range(20):
            sys.stdout.write("".join(f"step {number} {n}\n" for n in range(50_000)))
        sys.stdout.flush()


class RawBytes(Odd):
    """escape codes, NUL and broken UTF-8 in the output"""

    def begin(self, loop: Any) -> None:
        for _ in range(200):
            noise = self.draw.randbytes(100)
            sys.stdout.buffer.write(noise + b"\x1b[2J\x1b]0;x\x07\xff\x00\r<script>")
        sys.stdout.buffer.flush()


class OutputClosed(Odd):
    """the script closes its output"""

    apart = True

    def begin(self, loop: Any) -> None:
        sys.stdout.close()


class LogUnlinked(Odd):
    """the rank's log is removed, or cut to nothing"""

    apart = True

    def begin(self, loop: Any) -> None:
        path = Path(os.environ["ALLRANKS_LOGS_DIR"], f"rank-{loop.number}.log")
        if self.draw.random() < 0.5:
            path.unlink()
        else:
            os.truncate(path, 0)
        print("after it", flush=True)


# ---- what it does to its process ----


class Forks(Odd):
    """forked copies of the rank, programs that fail, a separate session"""

    def begin(self, loop: Any) -> None:
        for _ in range(self.draw.randint(3, 10)):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.2)
                os._exit(self.draw.choice((0, 1, 9)))
            os.waitpid(pid, 0)
        subprocess.run(["sh", "-c", "exit 3"], check=False)
        subprocess.run([sys.executable, "-c", "raise SystemExit(5)"], check=False)
        subprocess.Popen(["sleep", "2"], start_new_session=True, stdin=subprocess.DEVNULL)
        child = subprocess.Popen(["sleep", "600"])
        child.kill()
        child.wait()


class FewDescriptors(Odd):
    """no more than a handful of open files"""

    def begin(self, loop: Any) -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (most + 1 + self.draw.randint(0, 3), hard))

    def end(self, loop: Any) -> None:
        """It marks its end by a file, for which it needs one."""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    lasts = (15.0, 20.0)


class ClosedDescriptors(Odd):
    """all files above 2 are closed, as a daemon does"""

    apart = True

    def begin(self, loop: Any) -> None:
        kept = {other.fileno() for other in loop.group.others}
        for number in range(3, 1024):
            if number not in kept:
                with contextlib.suppress(OSError):
                    os.close(number)
        loop.kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(self.draw.randint(1, 8))]


class EnvironCleared(Odd):
    """the environment is emptied"""

    apart = True

    def begin(self, loop: Any) -> None:
        os.environ.clear()


class NoFolder(Odd):
    """the working folder is removed, and umask forbids all"""

    lasts = (10.0, 15.0)

    def begin(self, loop: Any) -> None:
        folder = loop.folder / f"gone-{loop.number}"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()
        os.umask(0o777)


class Signals(Odd):
    """signals of the script's own, and others that it ignores"""

    lasts, apart = (10.0, 15.0), True

    def begin(self, loop: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda *_: None)
            os.kill(os.getpid(), number)
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)

    def end(self, loop: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


class Memory(Odd):
    """half a gigabyte is taken, and given back"""

    lasts, apart = (15.0, 25.0), True

    def begin(self, loop: Any) -> None:
        loop.kept = [bytearray(b"x" * (64 << 20)) for _ in range(8)]

    def end(self, loop: Any) -> None:
        loop.kept = []


class Threads(Odd):
    """two hundred threads that sleep"""

    lasts = (10.0, 15.0)

    def begin(self, loop: Any) -> None:
        for _ in range(200):
            threading.Thread(target=time.sleep, args=(self.seconds,), daemon=True).start()


class RankClock(Odd):
    """the rank's own clock jumps by up to three hours"""

    lasts, apart = (15.0, 25.0), True

    def begin(self, loop: Any) -> None:
        real, off = time.time, self.draw.choice((-1, 1)) * self.draw.uniform(600, 10800)
        time.time = lambda: real() + off  # type: ignore[assignment]
        loop.real = real

    def end(self, loop: Any) -> None:
        time.time = loop.real


# ---- what its lines hold ----


class OddLines(Odd):
    """lines in the rank's own file that mean nothing"""

    lasts, may = (10.0, 15.0), ("event-refused",)

    def begin(self, loop: Any) -> None:
        path = Path(os.environ["ALLRANKS_RANKS_DIR"], f"rank-{loop.number}.jsonl")
        mine = f'{{"at": 5, "rank": {loop.number}, '.encode()
        said = [
            *(b"", b"{}", b"[1,2", b"\xff\xfe", b"x" * 200_000, b'{"at": 1e400, "kind": "beat"}'),
            b'{"at": "soon", "kind": "beat", "node": 3, "rank": "one", "data": []}',
            mine + b'"kind": "beat", "data": {"phase": 7, "step": "many"}}',
            mine + b'"kind": "beat", "data": {"step": -4, "steps": [[1], null]}}',
            mine + b'"kind": "beat", "data": {"rss_bytes": NaN}}',
            mine + b'"kind": "news", "data": {}}',
        ]
        for _ in range(3):
            self.draw.shuffle(said)
            with path.open("ab", buffering=0) as file:
                file.write(b"\n".join(said) + b"\n")
            time.sleep(0.3)


class UnreadableBeats(Odd):
    """beats whose phase and last step nobody can read"""

    lasts, may = (30.0, 40.0), ("event-refused",)

    def begin(self, loop: Any) -> None:
        loop.rank._over.append(self.draw.choice((["a"], 7, "warming-up", "x" * 10_000)))
        loop.rank.total_steps = self.draw.choice((-1, 1e400, 1 << 80, "many"))

    def end(self, loop: Any) -> None:
        loop.rank._over.clear()
        loop.rank.total_steps = None


PROCESS = named(globals())
