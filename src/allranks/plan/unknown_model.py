"""Findings that depend on a version that is not known yet: the plan assumes neither the newest nor an older one.
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from allranks.core import BLOCK, UNKNOWN, WARN, Finding
from allranks.plan.versions import Version
from allranks.spec import Run

OTHER_TRANSFORMERS: Version = (4, 52, 4)
"""Represents all versions before 5: they hold each routed expert as three Linears and read a model file by file."""


def verdict_unread(run: Run, asked: bool) -> str:
    """The verdict of a finding that one version has and another does not have.

    If the nodes were asked and the run has a container, it is a warning: allranks reads the versions inside the
    prepared container before the launch and judges everything again. Otherwise it is unknown.
    """
    return WARN if asked and run.container is not None else UNKNOWN


def whose(run: Run) -> str:
    return "the image" if run.container is not None else "the training environment"


def agreed(run: Run, asked: bool, newer: Sequence[Finding], older: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of a plan with transformers 5 and of the same plan with transformers 4, as one list.

    A finding of both stays as it is. A finding of only one depends on the version, and its text adds that.
    """
    before, after = ({(f.id, f.verdict): f for f in each} for each in (older, newer))
    found = []
    for one in newer:
        same = before.get((one.id, one.verdict))
        found.append(_depending(run, asked, one, "5 or later") if same is None else _both(one, same))
    found += [_depending(run, asked, one, "before 5") for one in older if (one.id, one.verdict) not in after]
    return tuple(found)


def _both(newer: Finding, older: Finding) -> Finding:
    """The finding that both plans have. Its fix may depend on the version."""
    if newer.fix == older.fix:
        return newer
    return replace(newer, fix=f"{newer.fix}; with transformers before 5: {older.fix}")


def _depending(run: Run, asked: bool, finding: Finding, versions: str) -> Finding:
    serious = finding.verdict in (BLOCK, UNKNOWN)
    return replace(
        finding,
        verdict=verdict_unread(run, asked) if serious else finding.verdict,
        saw=f"if {whose(run)} has transformers {versions}: {finding.saw}",
        why=f"{finding.why} allranks has not read yet which transformers {whose(run)} has.".strip(),
    )
