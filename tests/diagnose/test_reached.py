"""Jobs that train on after an exception and come to their end, and jobs of which only others or a shell go on."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import cause
from tests.diagnose.test_earlier_runs import LOST, of_rank, raised, told

FAILED = raised("ZeroDivisionError: division by zero")
STEPS = "".join(f"INFO epoch {n}: loss {5 - n}.25 lr 0.1\n" for n in range(5, 8))
PRINTED = STEPS.replace("INFO ", "")
DONE = "INFO embedding training finished\n"
NO_ROOM = "batch size 4096 does not fit: DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.\n"


def is_healthy(text: str) -> bool:
    found = told(text)
    return found.cause == UNPROVEN or cause(found.cause).healthy


@pytest.mark.parametrize(
    "end",
    [
        DONE,
        "INFO epoch 8/8: loss 2.4 lr 0.1\n",
        "INFO:loader:rank 1: finished all 12 steps\n",
        "INFO rank 0 finished\n",
        "[run] train.py returned 0\n",
        "exit status: 0\n",
        "INFO scores.json written\n",
    ],
)
def test_a_job_that_trains_on_and_ends_got_over_its_exception(end: str) -> None:
    assert is_healthy(FAILED + STEPS + end)
    assert not is_healthy(FAILED + STEPS)
    assert not is_healthy(FAILED + PRINTED + end.replace("INFO ", ""))  # they may have waited in a buffer


@pytest.mark.parametrize(
    "end", ["rank 1: finished all 12 steps\n", "exit status: 0\n", "scores.json written\n", "results saved\n"]
)
def test_the_end_of_a_part_alone_proves_no_success(end: str) -> None:
    assert told(STEPS + end).confidence == "likely"
    assert told(STEPS + FAILED + end).cause == "rank-crashed-first"
    assert (
        told(STEPS + "CUDA out of memory. Tried to allocate 2.00 GiB\n" + STEPS[:30] + end).cause
        == "cuda-oom"
    )


def test_a_line_that_is_not_raised_is_not_got_over_by_some_steps() -> None:
    assert told(NO_ROOM + STEPS + DONE).cause == "cpu-oom-killed"


def test_what_fails_after_the_steps_counts() -> None:
    assert told(FAILED + STEPS + raised(LOST) + DONE).cause == "tokenizer-or-model-file-missing"
    assert not is_healthy(FAILED + STEPS + DONE + FAILED)


def test_steps_of_other_ranks_prove_nothing() -> None:
    mine, others = of_rank(1, FAILED), of_rank(0, STEPS)
    assert not is_healthy(of_rank(1, STEPS) + mine + others + "rank 0 finished\n")
    assert is_healthy(mine + of_rank(1, STEPS) + others + "rank 0 finished\nrank 1 finished\n")


def test_the_end_of_a_bar_is_no_end_of_a_job() -> None:
    bar = "100%|##########| 36/36 [07:26<00:00, 12.39s/it]\n"
    assert not is_healthy("safetensors_rust.SafetensorError: HeaderTooLarge\nSaving shard\n" + bar)


def test_a_launcher_that_reports_an_exit_code_is_believed() -> None:
    table = "  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 4242)\n"
    assert not is_healthy(FAILED + STEPS + table + DONE)


def test_a_step_without_a_finite_loss_that_is_skipped() -> None:
    skipped = "iter {} WARNING: Gradient overflow (grad_norm=nan, loss=nan). Skipping step\n"
    text = "".join(skipped.format(n) for n in range(4)) + "iter 10 loss 0.9 lr 0.1\n"
    assert is_healthy(text)
    assert told(text.replace(". Skipping step", "")).cause == "loss-nan-fp16-overflow"


def test_a_closing_line_that_names_an_exit_code_is_no_success() -> None:
    assert told("the owl sleeps\nrun.sh finished, exit code 1\n").cause == UNPROVEN


def test_a_training_without_data_is_not_surely_well() -> None:
    text = "Epoch 3: 0 steps, train loss 0.0000\nTraining finished\n"
    assert told(text).confidence == "likely"
    assert told(text.replace(" 0 steps", " 9 steps")).confidence == "certain"
