"""A node answered, but some facts that a launch depends on could not be read there.

## How it is found
The facts that this run's checks judge by, if a node sent a reason in place of a value: a program that
is not installed, a mount that does not answer, a driver that hangs.

## Why it matters
allranks does not call a thing fine if it could not look at it. The finding names the checks that judged nothing
because of it.

## What to do
Fix the reason; it is the message of the node's own system or program. If you know better, continue with
`--accept unreadable-facts`.

## Source
The node's own message.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.phrases import listed
from allranks.core import UNKNOWN, WARN
from allranks.core.text import plural

ABSENT = "it is not among the facts (recorded by another version, or cut off)"


def check(context: Context) -> Findings:
    from allranks.checks.catalogue import all_rules  # this rule is one of them

    wanted: dict[str, list[tuple[str, bool]]] = {}
    for rule in all_rules().values():
        if rule.needs and rule.applies(context):
            for need in rule.needs:
                wanted.setdefault(need, []).append((rule.id, rule.unknown_blocks))
    for view in context.answered:
        yield from of_node(context, view, wanted)


def of_node(context: Context, view: View, wanted: dict[str, list[tuple[str, bool]]]) -> Findings:
    """One finding a reason: facts that are unreadable for the same reason are one trouble."""
    by_reason: dict[str, list[str]] = {}
    for need in sorted(wanted):
        reason = view.facts.why_unreadable(need) or (None if view.has(need) else absent(view, need))
        if reason is not None and not (reason != ABSENT and view.has(need)):
            by_reason.setdefault(reason, []).append(need)
    for reason, needs in by_reason.items():
        judges = sorted({rule for need in needs for rule, _ in wanted[need]})
        needed = any(blocks for need in needs for _, blocks in wanted[need])
        yield context.say(
            UNKNOWN if needed else WARN,
            view,
            saw=f"{listed(needs)} of {view.name} could not be read: {reason}",
            expected="every fact that a check judges by",
            why=f"{plural(len(judges), 'check')} judged nothing about this node: {listed(judges, 20)}.",
            fix=f"fix the reason on {view.name}, or continue with --accept unreadable-facts",
        )


def absent(view: View, need: str) -> str:
    """Why a fact is missing: if one source gives several (nvidia-smi's), the first of them says what failed."""
    family = need.partition(".")[0] + "."
    reasons = [why for path, why in view.facts.unreadable.items() if path.startswith(family)]
    return reasons[0] if len(set(reasons)) == 1 else ABSENT
