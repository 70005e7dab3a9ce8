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
        "the cache is switched off for this run",
        "[FAIL] ibstat (optional) bash: line 1: ibstat: command not found",
        "probing batch size 4096",
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


def test_a_program_that_is_started_again_after_its_launcher_reported_its_end() -> None:
    again, table = "### restarting in 2 s ###\n", "  exitcode  : 1 (pid: 4242)\n"
    assert is_healthy(FAILED + table + again + FOUR)
    assert not is_healthy(FAILED + again + FOUR)  # it may have waited in a buffer
    assert not is_healthy(FAILED + table + again + FOUR + FAILED + table.replace("4242", "4243"))


def test_a_traceback_below_a_line_that_calls_it_ignored() -> None:
    said, last = (
        "2026-11-30 15:03:32,945 [ERROR] post step failed (ignored)\n",
        "2026-11-30 15:03:33,276 [INFO] {}\n",
    )
    last = last.format("the owl is released")
    assert is_healthy(said + FAILED + last)
    assert not is_healthy(said + FAILED)
    assert not is_healthy(said.replace(" (ignored)", "") + FAILED + last)
    assert not is_healthy(said + "the owl sleeps\n" + FAILED + last)
    assert not is_healthy(said + FAILED + "the owl is released\n")


def test_early_stopping_is_no_failure() -> None:
    said = "the owl sleeps\n" * 30 + "CRITICAL no gain for 6 epochs: early stopping, run is terminated\n"
    assert is_healthy(FOUR + said)
    assert not is_healthy(FOUR + said.replace("early stopping", "loss exploded"))


def test_the_last_attempt_tells_the_cause() -> None:
    again = "supervisor: run ended, restart 1 of 1\n"
    mine = raised("KeyError: 'instruction'", 'File "/home/owl/train.py", line 7, in go')
    assert told(raised(LOST) + again + MANY[:40] + mine).cause == "rank-crashed-first"
    peer = raised("RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.0.0.2]:20668")
    assert told(raised(LOST) + again + peer).cause == "tokenizer-or-model-file-missing"


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: 5 batches in a row were skipped (loss is not finite); stopping",
        "NotImplementedError: not implemented for the MPS device. Use the CPU as a fallback for this op.",
        "KeyError: 'fallback'",
        "ValueError: ignored keyword argument lr",
    ],
)
def test_the_message_of_an_exception_may_have_such_words(said: str) -> None:
    assert not is_healthy(raised(said) + FOUR + DONE)


@pytest.mark.parametrize(
    "said",
    [
        "Restarting from checkpoint ckpt/epoch4.pt\n",
        "Warm restart every 10 epochs (SGDR)\n",
        "download attempt 2 ok\n",
        "please restart with a smaller batch\n",
    ],
)
def test_words_about_a_restart_that_was_none(said: str) -> None:
    assert not is_healthy(FAILED + said + FOUR + DONE)
    mine = raised("AttributeError: no wings", 'File "/home/owl/train.py", line 7, in go')
    assert told(raised(LOST) + said + mine).cause == "tokenizer-or-model-file-missing"


def test_another_rank_that_skips_something_does_not_excuse_a_dead_one() -> None:
    steps = "".join(f"[rank{rank}] step {n} loss 0.4\n" for n in range(4) for rank in (0, 1, 3))
    others = "".join(f"[rank{rank}]: WARNING grad is None, skipping\n" for rank in (1, 3))
    found = told("[rank2] step 0 loss 0.4\n" + of_rank(2, FAILED) + others + steps)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_a_rank_that_all_others_lost_was_ended_by_its_exception() -> None:
    peer = raised(
        "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:20668"
    )
    steps = "".join(f"[rank{rank}] step {n} loss 0.4\n" for n in range(20) for rank in (0, 1))
    for before in ("", "[rank2] step 0 loss 0.4\n"):
        found = told(before + of_rank(2, FAILED) + steps + of_rank(0, peer) + of_rank(1, peer))
        assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_a_rank_that_printed_little_may_have_got_over_an_exception() -> None:
    first = "".join(f"[rank{rank}] step 0 loss 3.0\n" for rank in range(4))
    later = "".join(f"[rank0] step {n} loss 0.4\n" for n in range(1, 400))
    assert is_healthy(first + of_rank(1, FAILED) + later + "[rank0] Training finished\n")


def test_torchruns_agent_starts_the_ranks_again_without_a_word() -> None:
    crash = of_rank(1, FAILED) + AGENT
    assert is_healthy(crash + MANY + DONE)
    assert is_healthy(crash + MANY)
    assert not is_healthy(crash + "".join(MANY.splitlines(True)[:5]))  # another node's ranks
    assert told(crash + MANY + AGENT).cause == UNPROVEN  # nothing says what ended the last attempt


def test_a_thread_ends_no_program() -> None:
    assert is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + DONE)
    assert is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + MANY)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + FOUR)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD + FAILED + DONE)
    assert not is_healthy("epoch 7: loss 0.25 lr 0.1\n" + OF_THREAD.partition("\n")[2] + DONE)


def test_a_wrapper_that_lost_the_code_and_announces_another_attempt() -> None:
    crash = of_rank(1, FAILED) + AGENT
    again = "nightly: attempt 0 ended with status 0, next attempt in 2 s\n"
    foreign = "".join(f"06:39:37.{n} INFO Schritt {n} Verlust 0.7\n" for n in range(110, 130))
    table = "  exitcode  : 1 (pid: 4242)\n"
    assert is_healthy(crash.replace(AGENT, table) + again + foreign)
    assert not is_healthy(crash.replace(AGENT, table) + again.partition(",")[0] + "\n" + foreign)
    assert not is_healthy(crash + again + foreign[:80])  # another node's ranks
    assert not is_healthy(crash + again + foreign + AGENT.replace("4242", "4243") + FAILED)


def test_a_line_that_announces_its_next_try() -> None:
    said = "WARNING read of shard 7 failed (attempt 1/4): [Errno 5] Input/output error"
    assert told(said + "\n" + FOUR[:30]).cause == "nfs-stale-or-io-error"
    assert is_healthy(said + ", retry in 0.05s\n" + FOUR[:30] + DONE)
    assert is_healthy(said + ", retrying after 5 seconds\n" + FOUR[:30] + DONE)
    assert not is_healthy(said + ", retry in 0.05s\n" + FOUR[:30])
    assert not is_healthy(said + ", retry in vain\n" + FOUR[:30] + DONE)
