"""What is said before a script starts of keys that it does not hear of."""

from __future__ import annotations

import pytest

from allranks import spec
from allranks.runs.script_keys import unheard

HEAD = "name: t\nnodes: localhost\n"
ALL = "deepspeed: zero3\nsave: {to: /o, every: 5, keep: 2, copy_to: /nfs}\nresume: auto\nlaunch: {restarts: 2}\n"


@pytest.mark.parametrize(
    ("train", "keys", "told"),
    [
        ("{command: [a.py]}", "", []),
        (
            "{command: [a.py]}",
            ALL,
            ["deepspeed", "save.every", "save.to", "save.keep", "save.copy_to", "resume", "launch.restarts"],
        ),
        ('{command: [a.py, "--o={output}", "{resume}"]}', ALL, ["deepspeed", "save.every"]),
        ("{llamafactory: {model_name_or_path: /m}}", ALL, []),
    ],
    ids=["plain", "nothing handed over", "by placeholders", "a trainer that is told all"],
)
def test_a_key_that_a_script_does_not_hear_of_is_said(train, keys, told) -> None:
    findings = unheard(spec.loads(f"{HEAD}train: {train}\n{keys}"))

    assert [finding.saw.partition(":")[0] for finding in findings] == told
    assert {finding.verdict for finding in findings} <= {"note"}
    assert all(finding.where.line for finding in findings)
