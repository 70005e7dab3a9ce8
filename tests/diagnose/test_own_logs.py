"""Jobs with one log of each rank, whose programs go on after the exceptions in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from allranks.cli.diagnose_verb import of_paths
from allranks.core import Diagnosis
from allranks.core.causes import UNPROVEN
from allranks.diagnose import Evidence, cause, conclude, parse
from allranks.diagnose.own_logs import all_went_on
from allranks.diagnose.samples import FEW
from tests.diagnose.test_earlier_runs import raised
from tests.diagnose.test_late_output import OF_MODULE

BROKEN = raised("json.decoder.JSONDecodeError: Expecting value: line 1 column 48 (char 47)")
THREAD = "Exception in thread feeder:\n" + BROKEN


def logged(first: int, last: int) -> str:
    return "".join(f"21:56:{n:02}.100 INFO <train> pas {n} norme {90 - n}.5\n" for n in range(first, last))


def printed(first: int, last: int) -> str:
    return "".join(f"it {n} d {n / 90:.3f}\n" for n in range(first, last))


def work(first: int, last: int) -> str:
    return "".join(f"the owl reads book {n} of the shelf\n" for n in range(first, last))


def read(logs: Mapping[str, str]) -> Evidence:
    seen = Evidence()
    for name, text in logs.items():
        for line in parse(text, f"logs/{name}"):
            seen.add(line)
    return seen


def told(logs: Mapping[str, str]) -> Diagnosis:
    return conclude(read(logs))


def went_on(logs: Mapping[str, str]) -> bool:
    """Whether what rank 1 raised counts for nothing."""
    seen = read(logs)
    return any(all_went_on(seen, one) for rank, one in seen.raised() if rank == 1)


def of_ranks(lines: str, *, rank: int = 1, ranks: int = 3, others: str = "") -> dict[str, str]:
    return {f"rank_{n}.log": lines if n == rank else others or logged(0, 40) for n in range(ranks)}


def is_healthy(logs: Mapping[str, str]) -> bool:
    found = told(logs)
    return found.cause == UNPROVEN or cause(found.cause).healthy


@pytest.mark.parametrize("lines", [logged, printed, work])
def test_a_rank_that_goes_on_as_before(lines) -> None:
    assert is_healthy(of_ranks(lines(0, 20) + BROKEN + lines(20, 40)))
    assert not is_healthy(of_ranks(lines(0, 20) + BROKEN + lines(20, 21)))
    assert not is_healthy(of_ranks(lines(0, 20) + BROKEN))


@pytest.mark.parametrize("lines", [logged, printed, work])
def test_another_rank_that_failed(lines) -> None:
    logs = of_ranks(lines(0, 20) + BROKEN + lines(20, 40))
    assert went_on(logs)
    for last in (
        raised("KeyError: 'wings'"),
        raised("KeyError: 'wings'", OF_MODULE) + printed(30, 36),
        "OSError: [Errno 28] No space left on device\n",
        "ERROR: the owl has left its nest, giving up\n",
        "CUDA out of memory. Tried to allocate 2.00 GiB\n",
    ):
        crash = {**logs, "rank_2.log": logged(0, 30) + last}
        assert not (went_on(crash) or is_healthy(crash)), last
    for ended in ("srun: error: n3: task 2: Exited with exit code 1\n", "  exitcode  : 1 (pid: 4242)\n"):
        assert not (went_on({**logs, "job.log": ended}) or is_healthy({**logs, "job.log": ended})), ended


def test_what_is_printed_after_a_line_that_is_no_traceback_may_be_late() -> None:
    assert not is_healthy(
        of_ranks(printed(0, 20) + "OSError: [Errno 28] No space left on device\n" + printed(20, 26))
    )


def test_each_rank_goes_on_after_an_exception_of_its_own() -> None:
    one = logged(0, 20) + BROKEN + logged(20, 40)
    assert is_healthy(of_ranks(one, others=one))
    assert not is_healthy(of_ranks(one, others=logged(0, 20) + BROKEN))


@pytest.mark.parametrize("failed", [THREAD, BROKEN.replace('File "/r/main.py", line 7, in go', OF_MODULE)])
def test_what_a_few_lines_after_it_do_not_show(failed: str) -> None:
    """A thread that fed the others has died, or the lines waited in a buffer."""
    assert not is_healthy(of_ranks(printed(0, 20) + failed + printed(20, 26)))


def test_a_log_of_several_programs_shows_nothing() -> None:
    mixed = "".join(f"[rank{n % 3}] shard {n} of the shelf is read\n" for n in range(40))
    assert not is_healthy({"a.log": mixed + BROKEN + mixed, "b.log": mixed})


def test_one_file_that_shows_the_ends_of_several_logs(tmp_path: Path) -> None:
    """What is counted between its beginning and its end is not known of each log."""
    parts = of_ranks(work(0, 400) + BROKEN + work(400, 800))
    text = "".join(f"==> {name} <==\n{lines}\n" for name, lines in parts.items())
    (tmp_path / "all.log").write_text(text)
    seen = Evidence()
    for line in parse(text, "all.log"):
        seen.add(line)
    assert (
        not seen.reads_ends
        and of_paths([str(tmp_path / "all.log")], []).diagnosis.cause == conclude(seen).cause
    )


@pytest.mark.parametrize(("logs", "goes_on"), [(FEW, True), (FEW + 1, False)])
def test_the_last_lines_of_a_few_logs_are_read(tmp_path: Path, logs: int, goes_on: bool) -> None:
    for name, text in of_ranks(work(0, 400) + BROKEN + work(400, 800), ranks=logs).items():
        (tmp_path / name).write_text(text)
    found = of_paths([str(tmp_path)], []).diagnosis
    assert (found.cause == UNPROVEN or cause(found.cause).healthy) is goes_on
