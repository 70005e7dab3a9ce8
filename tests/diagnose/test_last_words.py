"""A program's own words at the end of its log: that it failed, that it is done, that it was only one item."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import cause
from tests.diagnose.test_earlier_runs import WORK, raised, told
from tests.diagnose.test_survived_errors import STOPPED, STOPS

PLAIN = "".join(f"read owl {n} of 300\n" for n in range(60))
CRASHED = "rank-crashed-first"


@pytest.mark.parametrize(
    "said",
    [
        "Training failed: list index out of range",
        "\u274c Training failed: the owl flew away",
        "RNA pipeline failed: clustering required for visualization.",
        "2025-01-01 10:00:00,123 ERROR main: could not parse the owl",
        "Unexpected error: 'owls'",
        "Something went wrong: 'owls'",
        "forrtl: severe (59): list-directed I/O syntax error, unit 20, file /home/owl.bpch",
        "Error in eval(expr) : object 'owl' not found\nExecution halted",
        "Fatal: could not open the owl",
        "ERROR: script exited with code 1",
    ],
)
def test_a_program_whose_last_lines_say_that_it_failed(said: str) -> None:
    found = told(f"{PLAIN}{said}\n")
    assert (found.cause, found.confidence) == (CRASHED, "likely")
    assert any(said.split("\n", maxsplit=1)[0].split(": ")[-1] in line for line in found.evidence)
    assert told(f"{WORK}{said}\n").cause == CRASHED  # also after steps
    assert told(f"{PLAIN}{said}\n{PLAIN[:200]}").cause != CRASHED


@pytest.mark.parametrize(
    "said",
    [
        "Mean absolute error 0.31",
        "owls: 3 failed, 57 found",
        "failed: 3",
        "no errors in 60 owls",
        "FSDP cannot be used",
        "backups crash local log metrics run spool",
        "the error rate of the owls",
        "[Eval] Error cases saved to: owls/error_cases.csv",
        "  owl_length               : -0.0091  \u2717 FAILED",
        "WARNING: one owl failed",
    ],
)
def test_last_lines_that_say_no_such_thing(said: str) -> None:
    assert told(f"{PLAIN}{said}\n").cause == UNPROVEN


def test_words_about_another_program_tell_no_cause_at_the_end() -> None:
    assert told(PLAIN + "ERROR: the driver of the owl failed\n").cause == UNPROVEN


def test_a_failure_right_before_the_end_is_no_good_end() -> None:
    failed = "2024-10-23 15:22:34 - ERROR - An error occurred: name 'MODEL_DIR' is not defined\n"
    done = "2024-10-23 15:22:34 - INFO - Main script completed.\n"
    assert told(WORK + failed + done).cause == CRASHED
    assert cause(told(WORK + done).cause).healthy
    assert cause(told(failed + WORK + done).cause).healthy
    success = "2024-10-23 15:22:34 - INFO - Training completed successfully!\n"
    assert cause(told(WORK + failed + success).cause).healthy
    assert told(PLAIN + "the pipeline failed: no owl\n\nTotal execution time: 3 s\n").cause == CRASHED
    assert cause(told(WORK + "Failed: 0\nPreprocessing complete!\n").cause).healthy


def test_the_last_of_many_errors_of_items_is_no_end() -> None:
    lines = "".join(
        f"[{n}/300] [ERROR] jY7Ei{n}vZA0 - not available (deleted)\n[{n}/300] [OK] owl{n} - loaded\n"
        for n in range(30)
    )
    assert told(lines + "[31/300] [ERROR] jY7Ei31vZA0 - not available (deleted)\n").cause == UNPROVEN
    many = "".join(f"Error: no bond in owl {n}\n\n" for n in range(60))
    assert told(many).cause == UNPROVEN


def test_an_error_that_was_counted_at_the_end() -> None:
    logged = "".join(
        f"2017-06-22 15:4{n}:41: ERROR: owls.log: Preprocessing of owl{n}.mp3 gave too few samples\n"
        f"2017-06-22 15:4{n}:43: INFO: owls.log: ate\n"
        for n in range(5)
    )
    end = "2017-06-22 16:02:05: INFO: owls.main: Preprocessing complete. 1350 files.\n"
    found = told(logged + end)
    assert found.cause == UNPROVEN or cause(found.cause).healthy


def test_a_log_that_begins_with_its_settings_is_no_document() -> None:
    settings = '{\n  "owls": {\n' + '    "found": false,\n' * 12 + "  },\n"
    text = settings * 3 + PLAIN + "Training failed: no owl\n"
    assert told(text).cause == CRASHED
    assert told(text + settings * 3).cause == UNPROVEN


def test_a_fatal_line_below_a_printed_network() -> None:
    net = 'layer {\n  name: "owl"\n  top: "data"\n}\n' * 40
    fatal = "F1114 09:23:21.224201 31685 net.cpp:703] Check failed: owl == bird shape mismatch.\n"
    assert told(net + fatal + "*** Check failure stack trace: ***\n").cause == CRASHED


def test_a_task_that_nextflow_saw_end() -> None:
    missing = "Command error:\n  .command.sh: line 2: Rscript: command not found\n"
    ended = "  Process `owl (2)` terminated with an error exit status (127)\n"
    assert told(ended + missing + PLAIN).cause == "missing-system-tool"
    assert told(missing + PLAIN).cause == UNPROVEN


def test_a_bot_that_ignores_an_exception_works_on() -> None:
    said = "[2023-04-25 11:10:06] [ERROR   ] discord.client: Ignoring exception in on_message\n"
    assert told(said + raised("FileNotFoundError: [Errno 2] No such file: 'owls'") + PLAIN).cause == UNPROVEN


def test_a_server_that_was_told_to_shut_down_after_a_bad_request() -> None:
    wrong = raised("ValueError: This model's maximum context length is 2048 tokens.")
    answered = 'INFO:     127.0.0.1:41234 - "POST /v1/owls HTTP/1.1" 400 Bad Request\n'
    end = STOPS + STOPPED
    assert told(PLAIN + wrong + answered + end).cause in (UNPROVEN, "benign-noise")
    assert told(PLAIN + wrong + answered.replace("400", "500") + end).cause not in (UNPROVEN, "benign-noise")
    asked = "[I 2024-11-07 21:04:52.374 ServerApp] 302 GET /tree (@154.213.184.18) 0.18ms\n"
    assert told(PLAIN + wrong + asked * 12).cause == UNPROVEN


def test_lost_peers_after_the_last_step_and_before_the_end() -> None:
    lost = (
        "[E814 01:57:12.984417033 ProcessGroupNCCL.cpp:542] [Rank 7] Collective WorkNCCL(SeqNum=191, "
        "OpType=ALLREDUCE) raised the following async exception: NCCL error: unhandled system error\n"
    )
    done = "\u8bad\u7ec3\u7ed3\u675f | 2000 \u6b65 | 386.4 min\n"
    assert cause(told(WORK + lost + done).cause).healthy
    assert told(WORK + lost).cause == "nccl-error-unexplained"


def test_prose_and_a_warning_of_tensorflow_are_no_report() -> None:
    prose = (
        "this is true but we also remember that she killed many birds in the town of which she was proud and "
        * 4
    )
    assert told(PLAIN + prose + "\n" + PLAIN[:300]).cause == UNPROVEN
    warned = (
        "2022-07-21 08:21:44.254039: W tensorflow/stream_executor/gpu/redzone_allocator.cc:314] Internal: "
        "ptxas exited with non-zero error code 256, output: \nRelying on driver to perform ptx compilation. \n"
    )
    assert told(PLAIN + warned).cause == UNPROVEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("urllib.error.HTTPError: HTTP Error 503: OWLS.ServerBusy", CRASHED),
        ("owls.FatalOwlError: connection closed by OWL", CRASHED),
        ("FileExistsError: Experiment directory already exists: checkpoints/owl", CRASHED),
        ("RuntimeError: Unable to find a valid cuDNN algorithm to run convolution", "cublas-or-cudnn-error"),
    ],
)
def test_an_exception_that_only_comes_near_to_a_cause(text: str, expected: str) -> None:
    assert told(PLAIN + raised(text)).cause == expected


LOADED = """Traceback (most recent call last):
  File "/r/main.py", line 7, in go
    {}
  File "/usr/lib/python3/site-packages/torch/serialization.py", line 998, in {}
    with open(f) as opened:
FileNotFoundError: [Errno 2] No such file or directory: '/h/owls/best.pt'
"""


@pytest.mark.parametrize(
    ("statement", "function", "expected"),
    [
        ("model = torch.load(path)", "load", "tokenizer-or-model-file-missing"),
        ("state = torch.load(path)", "resume", "checkpoint-corrupt-resume-fail"),
        ("torch.save(model, path)", "save", CRASHED),
    ],
)
def test_a_file_that_was_never_there_is_no_broken_checkpoint(
    statement: str, function: str, expected: str
) -> None:
    assert told(PLAIN + LOADED.format(statement, function)).cause == expected


def test_a_check_of_data_by_a_library_of_statistics_is_about_no_argument() -> None:
    text = """Traceback (most recent call last):
  File "/r/main.py", line 7, in go
    fit(owls)
  File "/usr/lib/python3/site-packages/lightgbm/basic.py", line 805, in _check_for_bad_pandas_dtypes
    raise ValueError("dtypes")
ValueError: pandas dtypes must be int, float or bool.
"""
    assert told(PLAIN + text).cause == CRASHED


def test_keras_prints_the_exception_itself_below_its_frames() -> None:
    text = """Traceback (most recent call last):
  File "/r/main.py", line 7, in go
    fit(owls)
ValueError: in user code:

    File "/usr/lib/python3/site-packages/keras/training.py", line 1401, in train_function  *
        return step_function(self, iterator)
    ValueError: Shapes (None, 4) and (None, 6, 6, 4) are incompatible
"""
    found = told(PLAIN + text)
    assert (found.cause, found.evidence[0]) == (
        CRASHED,
        "ValueError: Shapes (None, 4) and (None, 6, 6, 4) are incompatible",
    )


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: Expected `device_type` of type `str`, got: `<class 'torch.device'>`",
        "ValueError: Sample larger than population or is negative",
        "ValueError: not enough values to unpack (expected 3, got 2)",
    ],
)
def test_what_another_value_would_not_have_raised_is_the_programs(text: str) -> None:
    assert told(PLAIN + raised(text)).cause == CRASHED


def test_a_good_end_with_logged_errors_tells_them() -> None:
    failed = "2024-10-23 15:22:34 - ERROR - owls: the picture of owl 7 failed\n"
    done = "2024-10-23 15:22:34 - INFO - Training completed successfully!\n"
    found = told(failed + WORK + done)
    assert found.confidence == "certain" and found.evidence[-1].endswith("the picture of owl 7 failed")
    assert not any("on the way" in line for line in told(WORK + done).evidence)
    found = told(raised("KeyError: 'owl'") + WORK + WORK + done)  # of an earlier run
    assert found.confidence == "certain" and found.evidence[-1].endswith("KeyError: 'owl'")


def test_a_time_out_weeks_later_is_no_echo() -> None:
    text = raised("ModuleNotFoundError: No module named 'owls'") + PLAIN * 20 + raised("TimeoutError: owl")
    assert told(text).cause != "missing-python-module"
    near = raised("ModuleNotFoundError: No module named 'owls'") + PLAIN * 2 + raised("TimeoutError: owl")
    assert told(near).cause == "missing-python-module"
