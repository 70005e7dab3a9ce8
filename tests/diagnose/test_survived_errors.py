"""Errors that a log shows and its program got over: ignored, logged, at a shutdown, or told of in another's words."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import cause, parse
from tests.diagnose.test_earlier_runs import IN_USE, LOST, WORK, raised, told

DONE = "2026-11-20 23:59:01 - INFO - pipeline completed successfully\n"
LOGGED = "2026-11-20 23:58:01 - ERROR - "
STOPS = "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\n"
STOPPED = "INFO:     Application shutdown complete.\n"
IGNORED = "Exception ignored in atexit callback: <function put at 0x7f96>\n"
GONE = "FileNotFoundError: [Errno 2] No such file or directory: '/h/data/owls.jsonl'"


def is_healthy(text: str) -> bool:
    found = told(text)
    return found.cause == UNPROVEN or cause(found.cause).healthy


def of_task(text: str) -> str:
    return "".join(f"0: {line}\n" for line in text.splitlines())


# ---- ignored ----


def test_an_exception_that_python_ignores_at_the_exit_is_no_cause() -> None:
    late = "1: [rank4]:[W501 12:10:54.870968602 ProcessGroupNCCL.cpp:1250] Warning: group has not been destroyed\n"
    assert is_healthy(of_task(IGNORED + raised(GONE)) + late)
    assert not is_healthy(of_task(raised(GONE)) + late)


@pytest.mark.parametrize(
    "heading",
    [
        "Error in callback <bound method _WandbInit._resume of <wandb>> (for pre_run_cell):",
        "Examining the path of a raised:",
    ],
)
def test_an_exception_that_a_host_of_programs_reports_and_goes_on_from(heading: str) -> None:
    assert is_healthy(f"{heading}\n" + raised("BrokenPipeError: [Errno 32] Broken pipe") + WORK[:400])


def test_a_warning_at_the_end_that_a_peer_left_the_rendezvous_is_no_cause() -> None:
    text = (
        "W0408 15:09:14.450000 606754 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1331] The node "
        "'owl_6_0' has failed to send a keep-alive heartbeat to the rendezvous '1439' due to an error of type {}.\n"
    )
    for kind in ("RendezvousTimeoutError", "RendezvousConnectionError"):
        assert is_healthy(WORK + text.format(kind))
    assert (
        told(raised("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError")).confidence
        == "certain"
    )


# ---- logged, and then a success ----


def test_a_success_that_a_logger_tells_after_exceptions_is_likely() -> None:
    failed = (
        LOGGED
        + "stage 2 failed: No module named 'owls'\n"
        + raised("ModuleNotFoundError: No module named 'owls'")
    )
    found = told(WORK + failed + DONE)
    assert cause(found.cause).healthy and found.confidence == "likely"
    assert found.evidence[-1].endswith("it logged exceptions: ModuleNotFoundError: No module named 'owls'")
    assert told(WORK + failed).cause == "missing-python-module"


@pytest.mark.parametrize(
    "said", ["job completed successfully\n", "2026-11-20 23:59:01 - INFO - job finished\n"]
)
def test_what_a_shell_or_a_handler_says_after_its_program_proves_nothing(said: str) -> None:
    assert told(WORK + raised(LOST) + said).cause == "tokenizer-or-model-file-missing"


def test_an_error_of_one_item_long_before_the_summary_is_got_over() -> None:
    item = "Error processing image owl.tiff: CUDA out of memory. Tried to allocate 122.00 MiB.\n"
    assert is_healthy(item + WORK + "Total execution time: 3811.92 seconds\n")
    assert told(WORK + item + "Total execution time: 3811.92 seconds\n").cause == "cuda-oom"
    assert told(item + WORK[: len(WORK) // 2]).cause == "cuda-oom"


def test_what_a_program_tells_its_authors_alone_is_no_end() -> None:
    aborted = (
        "Mar-22 16:52:06.543 [SIGTERM handler] DEBUG nextflow.Session - Session aborted -- Cause: SIGTERM\n"
    )
    assert (
        told(WORK + aborted + "Mar-22 16:52:06.644 [main] DEBUG runner - workflow completed\n").cause
        == UNPROVEN
    )
    assert (
        told(WORK + "Mar-22 16:52:06.644 [main] INFO runner - workflow run completed\n").confidence
        == "certain"
    )


def test_a_log_that_goes_on_after_all_lines_that_name_a_cause_shows_none() -> None:
    none = "RuntimeError: No CUDA GPUs are available\n"
    found = told(none + WORK)
    assert found.cause == UNPROVEN and "no-nvidia-driver" in found.why and found.where.line == 1
    assert told(none + WORK[: len(WORK) // 2]).cause == "no-nvidia-driver"
    assert told(none + WORK + "[rank0]: Traceback (most recent call last):\n").cause == "no-nvidia-driver"


def test_an_exception_that_ended_an_earlier_try_gives_way_after_many_others() -> None:
    first = raised("FileNotFoundError: [Errno 2] No such file or directory: '/h/data/owls.jsonl'")
    others = "".join(raised(f"ZeroDivisionError: division {n} by zero") + WORK[:2000] for n in range(7))
    assert told(first + others).cause == "rank-crashed-first"
    assert told(first).cause == "dataset-file-missing-on-node"


@pytest.mark.parametrize(
    "said", ["Pipeline Completed.\n", "Evaluation Finished.\n", "===== FINAL SUMMARY =====\nModels: 1\n"]
)
def test_lines_that_end_a_job(said: str) -> None:
    assert told(WORK + said).confidence == "certain"
    assert told(WORK + said + WORK).confidence != "certain"


# ---- at a shutdown ----


def test_an_exception_while_a_server_shuts_down_is_no_cause() -> None:
    late = raised("zmq.error.ZMQError: Operation not supported")
    assert is_healthy(WORK + STOPS + late + STOPPED)
    assert told(WORK + raised(IN_USE) + STOPS + late + STOPPED).cause == "rendezvous-port-in-use"
    again = "INFO:     Application startup complete.\n" + WORK
    assert not is_healthy(WORK + STOPS + STOPPED + again + late)


# ---- in another's words ----


@pytest.mark.parametrize(
    "text",
    [
        "INFO 09-06 00:48:54 logger.py:36] Received request chat-f: prompt: 'Human: why does sshd say "
        "kex_exchange_identification: Connection closed by remote host'\n",
        "Prompt: 'RuntimeError: CUDA out of memory. Tried to allocate 2 GiB'\n",
        "[nltk_data] Error loading punkt: <urlopen error [Errno -3] Temporary failure in name resolution>\n",
        "Using the latest cached version of the dataset since owls couldn't be found on the Hugging Face Hub\n",
        "Error: 9.167857584202466e-10\n",
        "Using fork() with Python in general is a recipe for mysterious\ndeadlocks and crashes.\n",
    ],
)
def test_words_of_others_are_no_cause(text: str) -> None:
    assert is_healthy(WORK + text + WORK) and is_healthy(WORK + text)


def test_an_error_about_a_prompt_counts() -> None:
    assert told("RuntimeError: CUDA out of memory at prompt: 'an owl'\n").cause == "cuda-oom"
    assert told("Error: 404 not found\n").cause != UNPROVEN


def test_a_time_of_day_in_brackets_is_no_machine() -> None:
    lines = list(
        parse(
            "[23:58:11] Traceback (most recent call last):\n[00:18:11]   [RUN] the mirror was hung\n", "x.log"
        )
    )
    assert [line.node for line in lines] == [None, None] and lines[-1].text == "[RUN] the mirror was hung"


# ---- signals ----


def test_a_loader_that_somebody_terminated_did_not_run_out_of_memory() -> None:
    died = "RuntimeError: DataLoader worker (pid 4020138) is killed by signal: {}."
    assert (
        told("[rank: 2] Received SIGTERM: 15\n" + raised(died.format("Terminated"))).cause
        == "rank-terminated"
    )
    assert told(raised(died.format("Killed"))).cause == "dataloader-worker-killed"


def test_lightnings_words_for_ctrl_c() -> None:
    text = "/p/call.py:54: UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown...\n"
    text += '  rank_zero_warn("Detected KeyboardInterrupt, attempting graceful shutdown...")\n'
    assert (
        told("Epoch 0:   3%|#   | 639/20347 [02:11<1:07:29,  4.87it/s, loss=1.0]\n" + text).cause
        == "cancelled-by-user"
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("TensorBoard caught SIGTERM; exiting...\n", "rank-terminated"),
        ("2025-11-17 19:46:18 [INFO] received SIGINT, shutting down\n", "cancelled-by-user"),
        ("2025-11-17 19:46:18 [INFO] \u6536\u5230 SIGINT \u4fe1\u53f7\n", "cancelled-by-user"),
    ],
)
def test_a_program_that_worked_on_and_was_told_to_end(said: str, expected: str) -> None:
    worked = WORK[: len(WORK) // 4]
    assert told(raised("TypeError: an owl") + worked + said).cause == expected
    assert told(worked + raised("TypeError: an owl") + said).cause == "rank-crashed-first"
    assert told(raised("TypeError: an owl") + said + worked).cause == "rank-crashed-first"


# ---- one of many ----

ITEM = "Error: Could not find the file of owl {}\n"
PAGES = "".join(f"Skipping owl {n} - the picture is there already.\n" for n in range(40))


def among(lines: str, statement: str, at: tuple[int, ...]) -> str:
    """These lines, with the statement before those of these numbers."""
    parts = lines.splitlines(keepends=True)
    return "".join((statement.format(n) if n in at else "") + part for n, part in enumerate(parts))


def test_an_error_that_a_program_reports_of_one_item_after_the_other() -> None:
    pages = "".join(WORK.splitlines(keepends=True)[:40])
    found = told(among(pages, ITEM, (3, 12, 18, 33)))
    assert found.cause == UNPROVEN and "owl" in found.evidence[0] and "goes on after it" in found.why
    assert not is_healthy(among(pages, ITEM, (3, 12, 18, 38)))
    assert not is_healthy(among(pages, ITEM, (3, 33)))
    assert not is_healthy(PAGES + ITEM * 4 + pages[:400])


def test_a_retry_that_ends_the_program_is_no_item() -> None:
    tries = "Error: Could not reach the tracker of owl {}\nwaits for 5 s\nagain\n" * 4
    assert not is_healthy(PAGES + tries)


def test_conda_and_bash_say_that_a_command_is_missing_and_the_shell_goes_on() -> None:
    for said in (
        "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n",
        "/var/spool/slurmd/job77/slurm_script: line 12: module: command not found\n",
    ):
        assert told(said + PAGES).cause == UNPROVEN
        assert told(said).cause == "missing-system-tool"


def test_a_server_that_answers_later_has_started_later() -> None:
    taken = "OSError: [Errno 98] Address already in use\n"
    answered = 'INFO:werkzeug:127.0.0.1 - - [19/Sep/2022 21:19:13] "POST /owls HTTP/1.1" 200 -\n'
    assert is_healthy(taken + PAGES + answered)
    assert not is_healthy(taken + PAGES + answered.replace("200", "500"))
    assert not is_healthy(taken + PAGES + answered.replace("200", "404"))
    assert not is_healthy(taken + PAGES + answered.replace("/owls", "/health"))
    assert not is_healthy(PAGES + answered + taken)


# ---- the program's logger goes on ----

STAMPED = "".join(f"2026-11-20 23:58:{n:02} - INFO - owls: fed {n}\n" for n in range(10, 22))


def test_a_logger_that_writes_on_shows_that_the_program_went_on() -> None:
    failed = raised("KeyError: 'owl'")
    assert is_healthy(STAMPED + failed + STAMPED)
    assert not is_healthy(STAMPED + failed + STAMPED[:300])
    collected = "".join(
        f"2026-11-20T23:58:59.1Z {line}\n" for line in (WORK[:200] + failed + PAGES[:900]).splitlines()
    )
    assert not is_healthy(collected)  # in which a shell's lines have a time, too
    printed = "".join(f"Job statistics of owl {n}\n" for n in range(12))
    assert not is_healthy(STAMPED + failed + printed)  # of a scheduler, after the program's end
    assert is_healthy(STAMPED + failed + STAMPED.replace("20 23", "20:23"))


def test_ctrl_c_at_a_terminal() -> None:
    assert told(WORK + "^C\n").cause == "cancelled-by-user"
    assert told(WORK + "step 3 loss 1.0^C\n$ \n").cause == "cancelled-by-user"
    assert is_healthy("^C\n" + WORK)
    before = 'Traceback (most recent call last):\n  File "/r/a.py", line 1, in f\nKeyboardInterrupt\n'
    assert told(before + WORK * 2 + "^C\n").cause == "cancelled-by-user"  # of two runs
    assert is_healthy("press ^C to stop\n")


def test_dash_says_that_a_command_is_missing_and_goes_on() -> None:
    said = "/home/owls/run.sh: 15: 28: not found\n"
    assert told(said + PAGES).cause == UNPROVEN
