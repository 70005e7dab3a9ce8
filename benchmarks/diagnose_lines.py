"""What the worst line costs: every expression on lines of 4 KB that are made to be hard for it, of `diagnose` first.

    python -m benchmarks diagnose_lines

A line is cut to 4 KB before anything is looked for in it, so that this is the most that one expression costs a line.
The other rooms' expressions are used as each is in the source (`search`, `match` or `fullmatch`); what they read is
mostly shorter.
"""

from __future__ import annotations

import time

from allranks.diagnose import Evidence, parse
from allranks.diagnose.lines import LINE_LIMIT
from benchmarks._patterns import patterns
from benchmarks._worst_lines import expressions, worst_lines

TITLE = "The worst line for naming a cause"
RUNS = 5


def milliseconds(call, *arguments: object) -> float:
    """CPU time, the least of some runs: what disturbs the machine only adds. One run where it is quick anyway."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.thread_time()
        call(*arguments)
        best = min(best, 1000 * (time.thread_time() - began))
        if best < 1:
            break
    return best


def read(line: str) -> None:
    seen = Evidence()
    for part in parse(line):
        seen.add(part)


def measure() -> str:
    costs, whole, lines = [], (0.0, ""), 0
    for name, literal, expression in expressions():
        hard = worst_lines(literal, expression, LINE_LIMIT)
        lines += len(hard)
        costs.append((max(milliseconds(expression.search, line) for line in hard), name, literal))
        whole = max(whole, max((milliseconds(read, line), name) for line in hard))
    costs.sort(reverse=True)
    rows = [f"- {len(costs)} expressions, {lines:,} lines of {LINE_LIMIT:,} characters"]
    rows += [
        f"- {cost:.1f} ms: {name}" + (f", lines with `{literal}`" if literal else "")
        for cost, name, literal in costs[:5]
    ]
    rows.append(
        f"- {whole[0]:.1f} ms: the worst line with everything that is done with it (made for {whole[1]})"
    )
    return "\n".join([*rows, *elsewhere()])


def elsewhere() -> list[str]:
    """The same of all other rooms' expressions."""
    costs, lines = [], 0
    for place, expression, way in patterns():
        hard = worst_lines("", expression, LINE_LIMIT)
        lines += len(hard)
        use = getattr(expression, way)
        costs.append((max((milliseconds(use, line) for line in hard), default=0.0), place.rpartition(":")[0]))
    costs.sort(reverse=True)
    rows = [f"- the other rooms: {len(costs)} expressions, {lines:,} lines"]
    return rows + [f"- {cost:.1f} ms: one of `{place}`" for cost, place in costs[:3]]
