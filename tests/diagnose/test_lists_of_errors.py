"""Logs that list errors about single items, errors that come again, and lines that only look like errors."""

from __future__ import annotations

import pytest

from tests.diagnose.test_earlier_runs import WORK, raised, told
from tests.diagnose.test_survived_errors import is_healthy

BIRDS = ("owl", "finch", "heron", "crane", "stork", "plover", "dunlin", "avocet")
NO_WINGS = "".join(
    f"Error processing bird_{first}{second}: the wings have no area\n"
    for first in "abcde"
    for second in "vwxyz"
)


def at(second: int, text: str) -> str:
    return f"2026-11-20 10:{second // 60:02}:{second % 60:02},000 - ERROR - {text}\n"


def test_a_log_of_nothing_but_errors_about_items_shows_no_end() -> None:
    assert is_healthy(NO_WINGS)
    assert not is_healthy(WORK + NO_WINGS)
    assert not is_healthy(NO_WINGS + "Error: the birds have no wings at all\n")
    assert not is_healthy("".join(f"Error processing bird_{n}: the wings have no area\n" for n in range(25)))


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("ssh: connect to host {} port 22: Connection refused", "ssh-connection-failed"),
        ("ModuleNotFoundError: No module named '{}'", "missing-python-module"),
        ("Error: failed to copy {}: No space left on device", "disk-full-checkpoint"),
    ],
)
def test_the_same_known_failure_of_many_hosts_or_modules_is_one(said: str, cause: str) -> None:
    assert told("".join(said.format(name) + "\n" for name in BIRDS) * 3).cause == cause


LOST_MODEL = "Error loading model: [Errno 2] No such file or directory: '../m/owl.safetensors'"


def test_the_same_error_at_other_times_was_survived_if_the_program_went_on_for_longer() -> None:
    works = "".join(f"2026-11-20 10:0{n}:00,000 - INFO - model loaded successfully\n" for n in range(2, 9))
    tries = "".join(at(10 * n, LOST_MODEL) for n in range(6))
    assert is_healthy(tries + works)
    assert not is_healthy("".join(at(0, LOST_MODEL) for n in range(6)) + works)


@pytest.mark.parametrize("gives_up", ["", "giving up after 5 tries"])
def test_tries_that_end_in_death_are_not_survived(gives_up: str) -> None:
    tries = "".join(at(60 * n, "Failed to connect to master node-a:29500, retrying") for n in range(5))
    last = at(242, gives_up) if gives_up else ""
    cleans = "".join(f"2026-11-20 10:04:1{n},000 - INFO - cleaning up\n" for n in range(6))
    assert not is_healthy(tries + last + cleans)


def test_the_statement_below_a_warning_of_python_is_no_error() -> None:
    """It has the word `nan`."""
    warned = (
        "/r/net.py:7: UserWarning: use another copy of this tensor\n  x = torch.tensor(torch.nan_to_num(y))\n"
    )
    text = (warned * 40 + raised("AttributeError: 'NoneType' object has no attribute 'wings'")) * 3
    assert is_healthy(text + warned * 20)
    assert not is_healthy(text)
