"""The plan for a person: what is trained, what it needs, what will run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from allranks.faces.clean import clean
from allranks.faces.terminal import print_findings
from allranks.plan import Plan
from allranks.spec import Run
from allranks.words import Finding

RANKS_SHOWN = 12


def print_plan(run: Run, plan: Plan, findings: Sequence[Finding]) -> None:
    """Findings first, since they may stop the run; then the numbers; then the ranks."""
    print_findings(list(findings))
    for name, value in rows(run, plan):
        print(clean(f"{name:<22}{value}"))
    print(clean("\n".join(rank_lines(plan))))
    if plan.deepspeed is not None:
        print("DeepSpeed             " + clean(json.dumps(plan.deepspeed, sort_keys=True)))


def rows(run: Run, plan: Plan) -> list[tuple[str, str]]:
    """Name and value of each line; what could not be known is said, not left out."""
    lines = [
        ("run", run.name),
        ("nodes × ranks", f"{len(run.cluster.nodes)} nodes, {run.cluster.world_size} ranks"),
        ("total parameters", count(plan.total_parameters)),
        ("trainable parameters", count(plan.trainable_parameters)),
    ]
    for part, value in ((plan.memory or {}).get("gpu_bytes") or {}).items():
        if isinstance(value, int | float):
            lines.append((f"GPU {part.replace('_', ' ')}", f"{value / 2**30:.2f} GiB"))
    verdict = (plan.memory or {}).get("verdict")
    if verdict:
        lines.append(("memory", str(verdict)))
    return lines


def count(value: int | None) -> str:
    return "unknown: no config.json at hand" if value is None else f"{value:,}"


def rank_lines(plan: Plan) -> list[str]:
    """The first ranks, one a line."""
    lines = [
        f"rank {row['rank']:<4} {row['node']}  local rank {row['local_rank']}  {row['address']}"
        for row in plan.ranks[:RANKS_SHOWN]
    ]
    if len(plan.ranks) > RANKS_SHOWN:
        lines.append(f"… and {len(plan.ranks) - RANKS_SHOWN} more")
    return lines
