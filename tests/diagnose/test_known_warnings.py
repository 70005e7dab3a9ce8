"""Lines that healthy runs print: no cause follows from them, and they hide none."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.known_warnings import is_known_warning

KNOWN = (
    "The attention mask and the pad token id were not set, so the results may be wrong.",
    "Using pad_token, but it is not set yet.",
    " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.",
    " [WARNING]  async_io: please install the libaio-dev package with apt",
    " [WARNING]  using untested triton version (2.3.1), only 1.0.0 is known to be compatible",
    "WARNING: No preset parameters were found for the device that Open MPI detected",
    "libibverbs: Warning: couldn't load driver 'libi40iw-rdmav34.so': cannot open shared object file",
    '[n1:7] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages',
    'UserWarning: Output "boxes" missing from loss dictionary. It was left out on purpose.',
    "[I ProcessGroupNCCL.cpp:844] [Rank 0] NCCL watchdog thread terminated normally",
)


@pytest.mark.parametrize("line", KNOWN)
def test_a_line_of_healthy_runs_names_no_cause(line: str) -> None:
    assert is_known_warning(line)
    assert diagnose(parse(f"{line}\n", "x.log")).cause in ("unproven", "benign-noise")


@pytest.mark.parametrize("line", KNOWN)
def test_it_does_not_hide_what_failed(line: str) -> None:
    text = f"{line}\nRuntimeError: NCCL error: remote process exited or there was a network error\n"
    assert diagnose(parse(text, "x.log")).cause == "nccl-remote-process-exited"


@pytest.mark.parametrize(
    "line",
    [
        "The tokenizer lacks a pad token",
        "async_io could not be built: libaio.h is missing",
        "The process terminated abnormally",
        "[E ProcessGroupNCCL.cpp:844] [Rank 0] the watchdog found a time-out",
    ],
)
def test_a_line_of_a_failure_is_none(line: str) -> None:
    assert not is_known_warning(line)


PAGE = "".join(f"## Part {number}\n\nA text about it.\n\nAnd more of it.\n\n" for number in range(20))
QUOTED = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in go\nRuntimeError: CUDA out of memory\n'
)


def test_a_long_document_may_quote_a_traceback_and_a_job_may_print_a_document() -> None:
    assert diagnose(parse(PAGE + QUOTED + PAGE, "x.log")).cause == "unproven"
    assert diagnose(parse(PAGE + PAGE + QUOTED, "x.log")).cause == "cuda-oom"
    assert (
        diagnose(parse(PAGE + QUOTED + PAGE + "{'loss': 2.0, 'epoch': 1.0}\n" * 3 + QUOTED, "x.log")).cause
        == "cuda-oom"
    )


def test_a_traceback_after_the_end_of_a_training_is_a_failure() -> None:
    ended = "step 1 loss 2.0\nstep 2 loss 1.9\nTraining completed.\n"
    frame = '  File "{}.py", line 3, in {}\n'
    cut = "Traceback (most recent call last):\n" + frame.format("a", "go") + frame.format("b", "save")
    assert diagnose(parse(ended, "x.log")).confidence == "certain"
    found = diagnose(parse(ended + cut, "x.log"))
    assert (found.cause, found.confidence) != ("benign-noise", "certain")


def test_an_exceptions_message_is_no_prefix_of_the_traceback_in_its_line() -> None:
    text = "RuntimeError: CUDA out of memory. Traceback (most recent call last):\n"
    assert diagnose(parse(text, "x.log")).cause == "cuda-oom"


def test_an_environments_folder_is_no_library() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/u/envs/vllm/lib/python3.11/site-packages/odd/core.py", line 3, in go\n'
        "ValueError: odd\n"
    )
    assert diagnose(parse(text, "x.log")).cause == "rank-crashed-first"
