"""Exceptions that stand inside a line: logged, quoted, in a heading; and those that somebody handled."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.quotes import inside

SAID = "ValueError: `mixing_ratio` must be positive"

QUOTES = [
    "ERROR: {}",
    "ERROR:root:{}",
    "[2026-05-01 10:00:00,123] [ERROR] [train.py:12:main] {}",
    "2026-05-01 10:00:00 ERROR train - training failed: {}",
    "E       {}",
    "    {}",
    "`{}`",
    "**{}**",
    'I get "{}" after an update',
    "[Bug] {}",
    "│ {} │",
    "An error occurred: {}",
    "ValueError('`mixing_ratio` must be positive')",
]


@pytest.mark.parametrize("form", QUOTES)
def test_a_line_that_quotes_an_exception_says_what_the_exception_says(form):
    assert inside(form.format(SAID)) == SAID
    found = diagnose(parse(f"{form.format(SAID)}\n", "x.log"))
    assert (found.cause, found.confidence) == ("wrong-arguments", "likely")


@pytest.mark.parametrize(
    "form",
    [
        "WARNING: {}",
        "2026-05-01 10:00:00 INFO train - {}",
        "ignored an error: {}",
        "retrying after an error: {}",
        "raise ValueError('the ratio must be positive')",
        "    except ValueError: pass  # {}",
        "if you see {}, the ratio is wrong",
        "this line has a {}",
    ],
)
def test_a_line_about_one_that_was_handled_says_nothing(form):
    assert inside(form.format(SAID)) is None
    assert diagnose(parse(f"{form.format(SAID)}\n", "x.log")).cause == "unproven"


def test_a_pattern_knows_it_too_and_steps_disprove_it():
    line = "ERROR:root:RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB\n"
    assert diagnose(parse(line, "x.log")).cause == "cuda-oom"
    assert diagnose(parse(f"ERROR: {SAID}\n" + "step 3 loss 1\n" * 12, "x.log")).cause == "benign-noise"
