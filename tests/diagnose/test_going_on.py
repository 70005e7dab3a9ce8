"""Programs that say that they go on after an error, wrappers that start them again, and threads that die."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose.going_on import says_it_goes_on
from tests.diagnose.test_earlier_runs import LOST, of_rank, raised, told
from tests.diagnose.test_reached import DONE, FAILED, NO_ROOM, PRINTED, is_healthy

AGENT = (
    "E1120 10:00:00.000000 140 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) "
    "local_rank: 1 (pid: 4242) of binary: /usr/bin/python\n"
)
OF_THREAD = "Exception in thread pusher-1:\n" + raised(
    "ConnectionRefusedError: [Errno 111] Connection refused"
)
FOUR = PRINTED + "epoch 8: loss 1.25 lr 0.1\n"
MANY = "".join(f"epoch {n}: loss {50 - n}.25 lr 0.1\n" for n in range(12))


@pytest.mark.parametrize(
    "text",
    [
        "falling back to the next checkpoint directory",
        "owl.npy is unreadable, a random owl is used instead",
        "ERROR rank 0 has no index yet: wait timeout after 2000ms; will wait again (1/10)",
        "bad line, ignored",
        "batch size 9 does not fit, trying batch size 4 ...",
        "worker tok-1 died with exit code 1, restarting it with the other encoding",
        "cannot write there, going on without it",
    ],
)
def test_words_of_a_program_that_goes_on(text: str) -> None:
    assert says_it_goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "cannot continue",
        "there is no fallback",
        "not skipped",
        "trying to connect to 10.0.0.5",
        "unable to go on",
    ],
)
def test_words_of_a_program_that_does_not(text: str) -> None:
    assert not says_it_goes_on(text)


def test_an_error_that_its_own_line_calls_handled() -> None:
    said = NO_ROOM.replace("9 bytes", "9 bytes; skipping this batch size")
    assert is_healthy(said + FOUR)
    assert is_healthy(said + FOUR[:30] + DONE)
    assert not is_healthy(said + FOUR[:30])  # rank 0 prints a step or two late
    assert not is_healthy(NO_ROOM + FOUR)
    assert told(said + FOUR + raised(LOST)).cause == "tokenizer-or-model-file-missing"


def test_what_a_logger_says_behind_an_exception_counts_and_what_is_printed_does_not() -> None:
    assert is_healthy(FAILED + "WARNING falling back to the older file\n" + FOUR)
    assert not is_healthy(
        FAILED + "falling back to the older file\n" + FOUR
    )  # it may have waited in a buffer
    assert not is_healthy(
        FAILED + "the owl sleeps\n" * 25 + "WARNING falling back to the older file\n" + FOUR
    )
    assert is_healthy(NO_ROOM + "falling back to a smaller batch\n" + FOUR)  # both were printed


@pytest.mark.parametrize(
    "again",
    [
        "=== training exited with 1, restart 1 in 2s ===\n",
        "[supervisor] attempt 2 of 3\n",
        "run_forever: attempt 1 exited with 1, starting again in 2 s\n",
    ],
)
def test_a_program_that_is_started_again_and_ends(again: str) -> None:
    end = "=== training exited with 0 after 1 restart(s) ===\n"
    assert is_healthy(FAILED + again + FOUR + end)
    assert is_healthy(AGENT + again + FOUR + end)
    assert not is_healthy(FAILED + again + FOUR)
    assert not is_healthy(
        FAILED + again.replace("restart 1 in", "stop after").replace("attempt", "part") + end
    )


def test_the_last_attempt_tells_the_cause() -> None:
    again = "supervisor: run ended, restart 1 of 1\n"
    mine = raised("KeyError: 'instruction'", 'File "/home/owl/train.py", line 7, in go')
    assert told(raised(LOST) + again + MANY[:40] + mine).cause == "rank-crashed-first"
    peer = raised("RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.0.0.2]:20668")
    assert told(raised(LOST) + again + peer).cause == "tokenizer-or-model-file-missing"


def test_torchruns_agent_starts_the_ranks_again_without_a_word() -> None:
    crash = of_rank(1, FAILED) + AGENT
    assert is_healthy(crash + MANY + DONE)
    assert is_healthy(crash + MANY)
    assert not is_healthy(crash + "".join(MANY.splitlines(True)[:5]))  # another node's ranks
    assert told(crash + MANY + AGENT).cause == UNPROVEN  # nothing says what ended the last attempt


def test_a_thread_ends_no_program() -> None:
    assert is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + DONE)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + FAILED + DONE)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD.partition("\n")[2] + DONE)
