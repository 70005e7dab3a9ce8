"""A healthy rank without torch that does one odd thing: it tells its steps to `allranks.worker` as hooks do.

Ranks meet after every step, as in an all-reduce: none takes a step without all others. Rank 0 ends the training when
the file --until is there. What is odd, and how it is drawn from --seed, is in `odd.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from allranks.worker import activation  # the bundle's: only there, below a supervisor, is a rank one

CONNECT_SECONDS = 60.0
TELL_SECONDS = 0.5


class Group:
    """All ranks' meeting: rank 0 waits for a byte of each, and answers whether the training goes on."""

    def __init__(self, number: int, size: int):
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + 1)
        self.others: list[socket.socket] = []
        if number == 0:
            with socket.create_server(("", address[1]), family=socket.AF_INET, backlog=size) as door:
                self.others = [door.accept()[0] for _ in range(size - 1)]
        else:
            self.others = [self.connected(address)]
        self.is_first = number == 0

    def connected(self, address: tuple[str, int]) -> socket.socket:
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                return socket.create_connection(address)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def meet(self, is_last: bool) -> bool:
        """Whether this was the last step, as rank 0 says."""
        if not self.is_first:
            self.others[0].sendall(b".")
            return self.others[0].recv(1) != b"."
        for other in self.others:
            if not other.recv(1):
                raise ConnectionError("a rank has left")
        for other in self.others:
            other.sendall(b"!" if is_last else b".")
        return is_last


class Loop:
    """The training. What is odd may change `pace` (seconds a step) and `fetch_seconds`, or replace `compute` and
    `loss`."""

    def __init__(self, options: argparse.Namespace):
        rank = activation.ACTIVE
        assert rank is not None
        self.rank, self.options, self.number = rank, options, int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        self.folder, self.step, self.told, self.pace, self.fetch_seconds = (
            Path(options.folder),
            0,
            0.0,
            options.seconds,
            0.0,
        )
        self.rank.owner = "torch"
        self.group = Group(self.number, self.size)
        self.at_the_end: list[Callable[[], None]] = []

    def train(self, odd) -> None:
        self.rank.reach("training")
        self.rank.begin()
        is_last = False
        while not is_last:
            if odd is not None:
                odd.look(self)
            if self.fetch_seconds:
                time.sleep(self.fetch_seconds)
            self.rank.fetched(self.fetch_seconds, 512)
            self.compute()
            is_last = self.group.meet(self.number == 0 and self.is_over())
            self.step += 1
            self.tell()
            self.rank.end_step(self.step, 1e-3, self.loss())
            self.rank.release()
        for act in self.at_the_end:
            act()
        self.mark(f"ended-{self.number}", str(self.step))

    def is_over(self) -> bool:
        over = bool(self.options.until) and Path(self.options.until).exists()
        return over or self.step + 1 == self.options.steps

    def compute(self) -> None:
        time.sleep(self.pace)

    def loss(self) -> float:
        return 1.0 / (1 + self.step)

    def tell(self) -> None:
        """Rank 0's step, for who looks from outside: the run's own files may be what is odd."""
        if self.number == 0 and time.monotonic() > self.told + TELL_SECONDS:
            self.told = time.monotonic()
            with contextlib.suppress(OSError):
                self.mark("step", str(self.step))

    def mark(self, name: str, text: str = "") -> None:
        draft = self.folder / f".{name}"
        draft.write_text(text)
        draft.rename(self.folder / name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--odd", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--steps", type=int, default=0, help="it ends after so many; 0: only by --until")
    parser.add_argument("--until", default="")
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    odd = None
    if options.odd:
        from benchmarks._healthy.odd_process import PROCESS
        from benchmarks._healthy.odd_steps import STEPS

        odd = {**STEPS, **PROCESS}[options.odd](
            Random(f"{options.odd} {options.seed}"), int(os.environ["WORLD_SIZE"])
        )
        if int(os.environ["RANK"]) in odd.ranks:
            odd.early()
    Loop(options).train(odd)


if __name__ == "__main__":
    main()
