"""Sweeps some of whose trials fail, tests that fail as they should, failures before the ranks find each other, and
wrappers that succeed when they start again. Beside each, the job that looks like it and failed."""

from __future__ import annotations

import pytest

from allranks.diagnose import cause
from allranks.diagnose.closings import is_measured, says_failed
from tests.diagnose.test_earlier_runs import of_rank, raised, told
from tests.diagnose.test_reached import is_healthy

NO_MEMORY = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
STEPS = "".join(f"step {n} loss {9 - n}.25\n" for n in range(4))
BEST = "best trial: 1 with loss 0.25\n"
TAKEN = "torch.distributed.DistNetworkError: The server socket has failed to listen. EADDRINUSE, address already in use"
AT_START = raised(TAKEN, 'File "/s/torch/distributed/rendezvous.py", line 9, in _create_c10d_store')


def trial(number: int, body: str, heading: str = "=== trial {} ===\n") -> str:
    return heading.format(number) + body


# ---- sweeps ----


@pytest.mark.parametrize(
    "heading",
    [
        "=== trial {} ===\n",
        "##### trial {}: dim=64\n",
        "[search] trial {}: lr 0.1\n",
        "Fold {}\n",
        "experiment #{}\n",
    ],
)
def test_a_sweep_goes_on_after_a_trial_that_failed(heading: str) -> None:
    one = trial(1, STEPS, heading) + trial(2, STEPS + NO_MEMORY, heading)
    assert is_healthy(one + trial(3, STEPS, heading))
    assert is_healthy(one + trial(3, "it is quick\n", heading) + BEST)
    assert told(one).cause == "cuda-oom"
    assert told(one + trial(3, STEPS[:30], heading)).cause == "cuda-oom"  # hardly begun
    assert told(one + trial(3, STEPS + NO_MEMORY, heading)).cause == "cuda-oom"
    assert told(one + trial(1, STEPS, heading)).cause == "cuda-oom"  # another job's


@pytest.mark.parametrize("place", ["rank", "node", "worker", "stage", "Epoch", "pod"])
def test_headings_of_places_and_stages_are_no_trials(place: str) -> None:
    text = f"=== {place} 1 ===\n{STEPS}{NO_MEMORY}=== {place} 2 ===\n{STEPS}{BEST}"
    assert told(text).cause == "cuda-oom"


def test_a_process_that_a_launcher_lost_is_of_its_trial_if_the_sweep_names_the_best_one() -> None:
    table = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n  rank      : 0 (local_rank: 0)\n"
        "  exitcode  : 1 (pid: 7)\n"
    )
    failed = trial(1, STEPS) + trial(2, of_rank(0, NO_MEMORY) + table)
    assert is_healthy(failed + trial(3, STEPS) + "2 of 3 trials completed, best 1 with 0.2\n")
    assert told(failed + trial(3, STEPS) + "best trial: none\n").cause == "cuda-oom"
    assert told(failed + trial(3, STEPS)).cause == "cuda-oom"
    assert (
        told(failed + trial(3, table.replace("pid: 7", "pid: 8")) + BEST).cause == "cuda-oom"
    )  # the last one failed, too


# ---- what scripts print however the training ended ----


@pytest.mark.parametrize(
    "end",
    [
        "Mon May  6 11:30:12 UTC 2024\ndone\n",
        "+ echo Done\nDone\n",
        "+ exit 0\n",
        "=== Training finished ===\n",
        "--- Training finished ---\n",
        "+ ssh node2 cat log\nTraining finished\n",
        "=== Job 1 complete ===\n",
    ],
)
def test_a_script_that_goes_on_to_its_last_line_does_not_hide_what_ended_the_training(end: str) -> None:
    head = "Mon May  6 10:00:00 UTC 2024\n+ python train.py\n=== Training started ===\n"
    assert told(head + STEPS + NO_MEMORY + end).cause == "cuda-oom"
    assert is_healthy(head + STEPS + end)
    # the training itself says so, and steps are between them
    assert is_healthy(head + NO_MEMORY + STEPS * 3 + "Training finished\n")


def test_a_hang_that_a_watchdog_ended_is_not_done() -> None:
    hang = (
        "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600001 milliseconds\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
    )
    assert told(STEPS + hang + "All done\n").cause == "collective-timeout-straggler"


@pytest.mark.parametrize(
    "text",
    ["ERROR: 3/4 workers failed", "7 of 8 jobs failed, see logs", "2/2 parts failed", "1/3 ranks crashed"],
)
def test_parts_of_a_job_that_failed_are_no_figure(text: str) -> None:
    assert says_failed(text, True) and not is_measured(text)
    assert told(f"{STEPS}{text}\nTraining completed\n").confidence != "certain"
    assert is_measured("0/4 workers failed")
    assert is_measured("errors: 0")


# ---- tests ----


def test_what_tests_print_that_fail_as_they_should() -> None:
    begun = "============================= test session starts ==============================\n"
    passed = "========================= 3 passed, 2 xfailed in 1.53s =========================\n"
    failed = "==================== 1 failed, 3 passed, 2 xfailed in 1.53s ====================\n"
    shown = "E   RuntimeError: CUDA error: out of memory\n"
    assert is_healthy(begun + shown + passed + STEPS)
    assert not is_healthy(begun + shown + failed)
    assert not is_healthy(NO_MEMORY + begun + "tests/test_owl.py ...\n" + passed)
    assert not is_healthy(shown + "OK\n")


# ---- before the start ----


def test_an_error_before_the_ranks_found_each_other_is_over_if_they_train_then() -> None:
    again = "[launch] port 41109 did not work, next one\n"
    assert is_healthy(AT_START + again + STEPS + "step 9/9 loss 0.5\n")
    assert told(AT_START).cause == "rendezvous-port-in-use"
    assert told(AT_START + again + STEPS[:15]).cause == "rendezvous-port-in-use"
    assert told(STEPS + AT_START + STEPS).cause == "rendezvous-port-in-use"  # of a later stage
    assert not is_healthy(AT_START + again + STEPS + NO_MEMORY)


# ---- wrappers ----


def test_a_wrapper_that_says_that_its_program_succeeded_when_it_started_it_again() -> None:
    failed, end = (
        AT_START + "keepalive: 'python owl.py' exited with 1 (1/4)\nowl 1\n",
        "command succeeded after 1 restart(s)\n",
    )
    assert is_healthy(f"{failed}keepalive: {end}")
    assert not is_healthy(f"{failed}upload {end[8:]}")
    assert not is_healthy(f"{failed}keepalive: {end.replace('1', '0')}")
    assert not is_healthy(f"{failed}keepalive: {end}{AT_START}")


def test_a_printed_line_above_a_traceback_that_names_what_is_tried_instead() -> None:
    said = "owl 6 cannot be loaded - trying the previous one\n"
    broken = raised(
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
    )
    assert is_healthy(STEPS + said + broken + STEPS + "reached max_steps, bye\n")
    assert not is_healthy(STEPS + said + broken)
    assert not is_healthy(STEPS + "skipping owl 6\n" + broken + STEPS + "model saved, bye\n")
    assert not is_healthy(STEPS + said + broken + STEPS + NO_MEMORY)


def test_rows_of_numbers_are_no_errors_and_rows_with_a_reason_are() -> None:
    table = "\u2502 killed segment \u2502 7 \u2502 11.7 \u2502 3 \u2502\n| out of memory | 3 | 4.5 | 1 |\n"
    assert is_healthy(STEPS + table)
    row = "| train | 3 | 137 | 9 | Out of memory: Killed process 123 (python) |\n"
    assert not cause(told(STEPS + row).cause).healthy


# ---- which attempt, which rank ----


def test_the_last_try_of_a_loop_tells_the_cause() -> None:
    own = of_rank(0, raised("OSError: the owl did not answer after 4 tries"))
    table = "  rank      : {} (local_rank: {})\n  exitcode  : {} (pid: {})\n"
    first = "### try 1/2 18:18:20\n" + STEPS + own + table.format(0, 0, 1, 4)
    second = "### try 2/2 18:18:33\n" + STEPS + table.format(2, 2, "-9", 9) + "### try 2 finished rc=1\n"
    found = told(first + "### try 1 finished rc=1\n" + second)
    assert (found.cause, found.where.rank) == ("rank-sigkilled", 2)
    assert told(first + "### try 1 finished rc=1\n").cause == "rank-crashed-first"


def test_exceptions_that_a_rank_prints_again_and_again_are_not_its_end() -> None:
    pushed = raised("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>") + of_rank(
        0, STEPS
    )
    end = of_rank(2, raised("KeyError: 'smalltalk'"))
    found = told(pushed * 3 + end)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


@pytest.mark.parametrize("name", ["worker-1", "rank 1", "trainer_1"])
def test_a_launcher_that_says_with_which_status_its_ranks_finished(name: str) -> None:
    end = f"[launch] {name} (pid 23208) finished with status 137\n"
    found = told(STEPS + end)
    assert (found.cause, found.where.rank) == ("rank-sigkilled", 1)
    assert told(f"{STEPS}{name} finished with 137 owls\n").cause != "rank-sigkilled"


def test_a_rank_in_angle_brackets_that_leaves_before_the_others_lose_it() -> None:
    lost = "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:48297: Connection reset by peer"
    steps = "".join(f"<r{rank}> step {n} loss {9 - n}.25\n" for n in range(6) for rank in range(3))
    found = told(steps + "<r1> finished after 44 steps, bye\n" + raised(lost))
    assert (found.cause, found.where.rank) == ("rank-exited-early", 1)
