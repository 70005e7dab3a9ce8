"""Exceptions that stand inside a line: logged, quoted, in a heading; and those that somebody handled."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.quotes import MENTIONED, NO, SAID, inside

TEXT = "ValueError: `mixing_ratio` must be positive"

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
    "raise ValueError( {}",
    "ValueError('`mixing_ratio` must be positive')",
]


@pytest.mark.parametrize("form", QUOTES)
def test_a_line_that_quotes_an_exception_says_what_the_exception_says(form):
    assert inside(form.format(TEXT)) == (SAID, TEXT)
    found = diagnose(parse(f"{form.format(TEXT)}\n", "x.log"))
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
    ],
)
def test_a_line_about_one_that_was_handled_says_nothing(form):
    assert inside(form.format(TEXT))[0] == NO
    assert diagnose(parse(f"{form.format(TEXT)}\n", "x.log")).cause == "unproven"


def test_a_pattern_knows_it_too_and_steps_disprove_it():
    line = "ERROR:root:RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB\n"
    assert diagnose(parse(line, "x.log")).cause == "cuda-oom"
    assert diagnose(parse(f"ERROR: {TEXT}\n" + "step 3 loss 1\n" * 12, "x.log")).cause == "benign-noise"


def test_a_line_that_only_mentions_one_counts_in_a_short_text():
    line = f"train halfway {TEXT}\n"
    assert inside(line.strip()) == (MENTIONED, TEXT)
    assert diagnose(parse(line, "x.log")).cause == "wrong-arguments"
    assert diagnose(parse(line + "a line\n" * 39, "x.log")).cause == "wrong-arguments"
    assert diagnose(parse("a line\n" * 40 + line, "x.log")).cause == "unproven"


FRAMES = '[rank3]:   File "/u/train.py", line 8, in main\n[rank3]:   File "{}", line 9, in {}\n'


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        (FRAMES.format("/u/model.py", "forward"), "rank-crashed-first", 3),
        (FRAMES.format("/env/datasets/arrow_dataset.py", "map"), "dataset-format-error", 3),
        (FRAMES.format("/u/a.py", "f") + "[rank3]: a line\n" * 9, "unproven", None),
        (FRAMES.format("/u/a.py", "f") + "[rank3]: step 3 loss 1\n", "benign-noise", None),
        (FRAMES.format("/e/torch/distributed/elastic/agent.py", "run"), "unproven", None),
        (FRAMES.format("/e/torch/distributed/distributed_c10d.py", "all_reduce"), "unproven", None),
        (f"IndexError{' ' * 16}Traceback (most recent call last)\n\nFile a.py:3\n", "rank-crashed-first", None),
    ],
)  # fmt: skip
def test_a_traceback_whose_exception_was_cut_off_names_its_rank_and_place(text, cause, rank):
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == (cause, rank)
