"""What is said where a run was stopped before its launch: accepting is offered only where it helps."""

from __future__ import annotations

import pytest

from allranks.cli.run_verbs import say_stopped
from allranks.core import BLOCK, Finding, Where
from allranks.runs.controller import StoppedBefore
from allranks.runs.inspection import judge
from tests.probe.case import Simulated


@pytest.mark.parametrize("acceptable", [True, False])
def test_what_could_not_be_made_is_not_offered_to_be_accepted(acceptable: bool, capsys) -> None:
    finding = Finding("image-not-pulled", BLOCK, Where("n0"), saw="n0 cannot pull x", fix="log in")
    inspection = judge(Simulated(1).run, [])
    code = say_stopped(StoppedBefore(inspection, [finding], acceptable), as_json=False)
    said = capsys.readouterr().err
    assert code == 1
    assert ("--accept image-not-pulled" in said) == acceptable and "Not started" in said
