"""Facts and a plan in, findings out. Pure: nothing here touches a node.

A check is one file of `rules/`; its id is the file's name with `-` for `_`. It has

- a docstring that is the page of `allranks explain ID` (`core/pages.py`): what it means, and the headings *How it is
  found*, *Why it matters*, *What to do* and *Source*;
- `NEEDS`, the facts it judges by: if a node could not read one, `unreadable-facts` says so;
- `check(context)`, which yields findings made with `context.block`, `.warn` or `.note`;
- if it applies to some runs only, `applies(context)`;
- if a launch may go on although its facts are unreadable, `UNKNOWN_BLOCKS = False`: that is a warning then.

Nothing lists the checks. The cases of each are in a file of the same name in `tests/checks/cases/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from allranks.checks.catalogue import Rule, all_rules
from allranks.checks.context import Context
from allranks.checks.fact_request import request
from allranks.checks.lint import Line
from allranks.checks.lint.run_settings import lines
from allranks.checks.node_verdict import COLUMNS, Standing
from allranks.checks.node_verdict import standings as standings_of
from allranks.checks.phrases import harmless
from allranks.core import UNKNOWN, WARN, Facts, Finding, Where
from allranks.core.pages import Page
from allranks.core.rules import page_of
from allranks.spec import Run

__all__ = [
    "COLUMNS", "Line", "Standing", "applying", "ids", "judge", "page", "request", "settings", "standings",
]  # fmt: skip


def judge(facts: Sequence[Facts], plan: Any, run: Run) -> list[Finding]:
    """All findings, of every check, in the order of their ids.

    If a check raises an exception, for example on data that a node sent, that is a finding too: the check has
    judged nothing.
    """
    context = Context.make(facts, plan, run)
    return [finding for rule in all_rules().values() for finding in _judged(rule, context)]


def _judged(rule: Rule, context: Context) -> Iterator[Finding]:
    """The rule's findings under its own id. Texts that nodes sent are made harmless to a terminal."""
    try:
        for finding in rule.check(context) if rule.applies(context) else ():
            yield harmless(finding, rule.id)
    except Exception as error:
        failed = Finding(
            id=rule.id,
            verdict=UNKNOWN if rule.unknown_blocks else WARN,
            saw=f"the check itself failed: {type(error).__name__}: {error}",
            why="it has judged nothing.",
            fix="report it with the facts: allranks check FILE --save-facts DIR",
        )
        yield harmless(failed, rule.id)


def settings(facts: Sequence[Facts], plan: Any, run: Run) -> list[tuple[Line, Where]]:
    """Every variable, trainer argument and DeepSpeed key that the user wrote: set, dropped, void, wrong or
    costly, and why. `judge` also makes findings of those that are void or wrong."""
    return lines(Context.make(facts, plan, run))


def standings(facts: Sequence[Facts], plan: Any, run: Run, findings: Iterable[Finding]) -> list[Standing]:
    """The verdict on each node after these findings, in rank order."""
    return standings_of(Context.make(facts, plan, run), findings, run.accept)


def applying(facts: Sequence[Facts], plan: Any, run: Run) -> list[str]:
    """The ids of the checks that apply to this run, sorted."""
    context = Context.make(facts, plan, run)
    return [rule.id for rule in all_rules().values() if rule.applies(context)]


def ids() -> list[str]:
    """The ids of all checks, sorted."""
    return list(all_rules())


def page(check_id: str) -> Page | None:
    """The page of a check; None if a cause of the same id has it. KeyError if there is no check of that id."""
    return page_of(check_id, all_rules()[check_id].module)
