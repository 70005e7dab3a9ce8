"""What is diagnosed of logs of four ranks with several faults: `tests/diagnose/said/mixed.txt` has each answer whole.

The logs are drawn from a seed: how lines say their rank and time, the faults' own cases, and what else is printed. What
each fault means alone is the matter of its cases; here a change of the reading, the weighing or the order shows in
which of these logs it finds something else. Each log is also read in stretches, which must find the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allranks.cli.log_matcher import suspects
from allranks.diagnose import conclude
from allranks.diagnose.ranking import find_cases
from tests import said
from tests.diagnose.cases import CASES
from tests.diagnose.test_diagnose_stretches import kept, quickly, slowly

SEEDS = range(96)
RANKS = 4
Line = tuple[int, int, str]
"""(rank, second, text)"""

Form = Callable[[int, int, str], str]


def clock(second: int, start: int = 9 * 3600 + 59 * 60 + 40) -> str:
    second += start
    return f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"


FORMS: dict[str, Form] = {
    "rank": lambda rank, second, text: f"[rank{rank}]: {text}",
    "node and rank": lambda rank, second, text: (
        f"gpu-node-{rank // 2:02}: [default{rank % 2}]:[rank{rank}]:{text}"
    ),
    "time": lambda rank, second, text: f"2026-01-31 {clock(second)},123 [rank{rank}] {text}",
    "midnight": lambda rank, second, text: f"2026-02-28T{clock(second, 86390)}Z [rank{rank}]: {text}",
    "srun": lambda rank, second, text: f"{rank}: {text}",
    "none": lambda rank, second, text: text,
}


def step(number: int, chance: random.Random) -> str:
    loss = chance.choice(("2.50", "2.25", "nan", "inf"))
    return chance.choice(
        (
            f"{{'loss': {2.5 - number / 100:.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': {number / 10}}}",
            f"step {number} loss {2.5 - number / 100:.2f}", f"step {number} loss {loss}",
            f"{number}/500 [00:10<01:00, 1.2it/s]",
        )
    )  # fmt: skip


def lines_of(seed: int) -> tuple[list[str], Iterator[Line]]:
    chance = random.Random(seed)
    # By a draw of its own for each: a new symptom takes the place of another in a few logs, and leaves the others.
    chosen = sorted(CASES, key=lambda name: random.Random(f"{seed} {name}").random())[
        : chance.choice((1, 2, 2, 3))
    ]
    told: list[Line] = [(rank, 0, "process group ready") for rank in range(RANKS)]
    second, number = 1, 0
    for name in chosen:
        for _ in range(chance.choice((0, 1, 3))):
            told += [(rank, second, step(number, chance)) for rank in range(RANKS)]
            second, number = second + chance.choice((1, 1, 40)), number + chance.choice((1, 1, 300))
        case = min(CASES[name].FIRES, key=lambda one: random.Random(f"{seed} {one}").random())
        texts = (case if isinstance(case, str) else case[0]).splitlines()[:12]
        ranks = chance.choice(
            ([chance.randrange(RANKS)], [chance.randrange(RANKS)], [2, 3], list(range(RANKS)))
        )
        for place, rank in enumerate(ranks):
            told += [(rank, second + place, text) for text in texts]
        second += chance.choice((0, 1, 30))
    for _ in range(chance.choice((0, 0, 0, 2))):
        told += [(rank, second, step(number, chance)) for rank in range(RANKS)]
        second, number = second + 1, number + chance.choice((1, 300))
    if chance.random() < 0.3:
        error = chance.choice(
            ("KeyError: 'labels'", "RuntimeError: Connection closed by peer [10.0.0.9]:6784")
        )
        text = (
            "Traceback (most recent call last):",
            '  File "/srv/train.py", line 30, in <module>',
            "    main()",
            error,
        )
        told += [(chance.randrange(RANKS), second, one) for one in text]
    return chosen, iter(told)


def logs_of(seed: int) -> tuple[str, list[tuple[str, bytes]]]:
    """One file, or one for each rank."""
    name = sorted(FORMS)[seed % len(FORMS)]
    chosen, told = lines_of(seed)
    apart = seed // len(FORMS) % 3 == 0
    files: dict[str, list[str]] = {}
    for rank, second, text in told:
        files.setdefault(f"rank-{rank}.log" if apart else "all.log", []).append(
            FORMS[name](rank, second, text)
        )
    data = [(file, "".join(f"{line}\n" for line in lines).encode()) for file, lines in files.items()]
    return f"{name}{', apart' if apart else ''}: {', '.join(chosen)}", data


@pytest.mark.parametrize("part", range(2))
def test_what_is_found_in_logs_with_several_faults(part: int) -> None:
    told = []
    for seed in SEEDS[part::2]:
        label, logs = logs_of(seed)
        seen = slowly(logs)
        quick, _ = quickly(logs, (None, suspects)[seed // 8 % 2])
        assert kept(quick) == kept(seen), label
        weights = ", ".join(f"{case.symptom} {case.weight}" for case in find_cases(seen))
        lines = [f"{label} -> {weights}", *said.lines([conclude(seen)])]
        told += [f"{seed} {line}" for line in lines if not line.startswith(("  why", "  fix"))]
    said.hold(Path(__file__).parent / "said" / "mixed.txt", told)
