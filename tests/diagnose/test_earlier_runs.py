"""A log that holds more than one run of a program, and exceptions that did not end the last one."""

from __future__ import annotations

import pytest

from allranks.core.causes import UNPROVEN
from allranks.diagnose import Diagnosis, diagnose, parse
from allranks.diagnose.set_aside import warns

WORK = "".join(f"reading shelf {chr(97 + n % 26)}{chr(97 + n // 26)} of the archive\n" for n in range(130))
"""Lines of a program that works, and shows no steps."""

LOST = "OSError: /m/owl does not appear to have a file named config.json."
REFUSED = "serve.py: error: unrecognized arguments: --wings\n"
IN_USE = "OSError: [Errno 98] Address already in use"


def told(text: str) -> Diagnosis:
    return diagnose(parse(text, "x.log"))


def raised(said: str, frame: str = 'File "/r/main.py", line 7, in go', code: str = "") -> str:
    shown = f"    {code}\n" if code else ""
    return f"Traceback (most recent call last):\n  {frame}\n{shown}{said}\n"


def of_rank(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


# ---- the last run counts ----


def test_what_ended_an_earlier_run_is_not_the_cause() -> None:
    last = raised("KeyError: 'wings'")
    assert told(raised(LOST) + WORK + raised("IndexError: pop") + WORK + last).cause == "rank-crashed-first"
    assert told(raised(LOST)).cause == "tokenizer-or-model-file-missing"


def test_runs_whose_ends_torchrun_reports() -> None:
    ended = "  exitcode  : 1 (pid: 3994809)\n"
    first, second = raised(LOST) + ended + WORK, raised("IndexError: pop") + ended + WORK
    assert told(first + second + raised("KeyError: 'wings'") + ended).cause == "rank-crashed-first"
    assert told(first).cause == "tokenizer-or-model-file-missing"  # a process failed


def test_a_cause_that_ended_many_runs_is_known_of_the_last_one() -> None:
    many = "".join(
        raised("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB") + WORK for _ in range(6)
    )
    found = told(many + raised("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"))
    assert found.cause == "cuda-oom" and found.where.line == (many.count("\n") + 3)


def test_a_lost_peer_after_a_crash_is_no_later_run() -> None:
    peer = raised("RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.0.0.2]:20668")
    assert told(raised(LOST) + WORK + raised(LOST) + WORK + peer).cause == "tokenizer-or-model-file-missing"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (REFUSED, "wrong-arguments"),
        (
            "Owl: error: argument --wing: invalid choice: 'small' (choose from 'tiny', 'large')\n",
            "wrong-arguments",
        ),
        (
            "/opt/bin/python: can't open file 'go.py': [Errno 2] No such file or directory\n",
            "script-not-found",
        ),
    ],
)
def test_after_a_program_was_refused_another_one_ran(line: str, cause: str) -> None:
    assert told(line + WORK[:1000] + raised(IN_USE)).cause == "rendezvous-port-in-use"
    assert told(line + WORK[:1000]).cause == cause


def test_a_few_lines_that_look_like_another_machine_s_change_nothing() -> None:
    odd = "cfg.TRAIN.owl: 3\n[rank0] hello\n"
    text = raised(LOST) + odd + WORK + raised("IndexError: pop") + WORK
    assert told(text + raised("KeyError: 'wings'")).cause == "rank-crashed-first"
    many = "".join(f"node-1: reading shelf {word}\n" for word in WORK.split()[::5])
    assert told(raised(LOST) + many + raised("KeyError: 'wings'")).cause == "tokenizer-or-model-file-missing"


def test_an_exception_before_the_ranks_is_not_theirs() -> None:
    before = raised("ModuleNotFoundError: No module named 'featherlib'")
    assert told(before + of_rank(3, WORK + raised("KeyError: 'wings'"))).cause == "rank-crashed-first"
    assert told(before + of_rank(3, raised("KeyError: 'wings'"))).cause == "missing-python-module"
    shell = "/var/spool/job/slurm_script: line 376: numactl: command not found\n"
    assert told(shell + of_rank(3, WORK + raised("KeyError: 'wings'"))).cause == "rank-crashed-first"
    assert told(shell + of_rank(3, raised("KeyError: 'wings'"))).cause == "missing-system-tool"
    faulty = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    assert told(faulty + of_rank(3, WORK + raised("KeyError: 'wings'"))).cause == "xid-gpu-fault"
    assert told(faulty + raised(LOST) + WORK + raised("KeyError: 'wings'")).cause == "xid-gpu-fault"


# ---- the log goes on ----


def test_an_exception_after_which_the_program_works_is_not_named() -> None:
    crash = raised("ImportError: libowl.so.3: cannot open shared object file: No such file or directory")
    assert told(crash + WORK).cause == UNPROVEN
    assert told(crash + WORK[:900]).cause == "libnccl-or-cuda-lib-not-found"
    assert told(crash + WORK + "srun: error: n3: task 3: Exited with exit code 1\n").cause != UNPROVEN
    assert told(crash + WORK[: 32 * 46] + "step 1 loss 2.5\n").cause == "benign-noise"
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert told(crash + chained + raised("ValueError: no wing") + WORK).cause == UNPROVEN
    assert told(crash + WORK[: 32 * 46]).cause == "libnccl-or-cuda-lib-not-found"


def test_an_exception_of_a_rank_counts_although_others_work() -> None:
    text = of_rank(1, raised("ModuleNotFoundError: No module named 'featherlib'")) + of_rank(0, WORK)
    assert told(text).cause == "missing-python-module"


# ---- warnings ----

TOO_OLD = (
    "/v/site-packages/torch/cuda/__init__.py:141: UserWarning: CUDA initialization: The NVIDIA driver on your system "
    "is too old (found version 11040).\n"
)


@pytest.mark.parametrize(
    ("said", "code", "cause"),
    [
        ("RuntimeError: solve: expected a complex tensor as input. Got Long", "x = solve(h, y)", "rank-crashed-first"),
        ("RuntimeError: the driver gave nothing", "x = solve(h, y)", "cuda-driver-too-old"),
        ("AssertionError", "assert cuda_works()", "cuda-driver-too-old"),
    ],
)  # fmt: skip
def test_a_warning_gives_way_to_a_crash_of_another_subject(said: str, code: str, cause: str) -> None:
    assert told(TOO_OLD + "cpu\n" + raised(said, code=code)).cause == cause
    assert told(raised(said, code=code) + TOO_OLD).cause != "rank-crashed-first"


@pytest.mark.parametrize(
    "line",
    [
        "WARNING 08-13 11:31:26 [system_utils.py:299] Found ulimit of 16384",
        "(EngineCore pid=71) WARNING 08-13 11:31:26 [system_utils.py:299] Found ulimit of 16384",
        "WARNING:root:no such thing", "wandb: WARNING A request timed out", "WARNING: [rank 3] slow",
        "[2026-01-05 10:00:00,123][hub.utils._http][WARNING] - retrying", "[WARNING|modeling.py:12] odd",
    ],
)  # fmt: skip
def test_loggers_mark_warnings(line: str) -> None:
    assert warns(line)
    assert not warns(line.replace("WARNING", "ERROR"))


def test_after_a_marked_warning_fewer_lines_are_enough() -> None:
    line = "WARNING 08-13 11:31:26 [files.py:299] OSError: [Errno 24] Too many open files\n"
    assert told(line + WORK[:1100]).cause == UNPROVEN
    assert told(line + WORK[:300]).cause == "too-many-open-files"
    assert told(line.replace("WARNING", "ERROR") + WORK[:1100]).cause == "too-many-open-files"


# ---- whose exception it is ----

WORKER = 'File "/v/torch/utils/data/_utils/worker.py", line 308, in _worker_loop'


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("RuntimeError: the wing is not resizable", "rank-crashed-first"),
        ("AssertionError: no shelf", "rank-crashed-first"),
        ("KeyError: 'wings'", "dataset-format-error"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/d/a.jpg'",
            "dataset-file-missing-on-node",
        ),
    ],
)
def test_the_exception_of_a_loader_s_worker_is_its_own(said: str, cause: str) -> None:
    kind = said.partition(":")[0]
    text = raised(f"{kind}: Caught {kind} in DataLoader worker process 0.")
    text += f'Original Traceback (most recent call last):\n  {WORKER}\n  File "/r/a.py", line 3, in walk\n{said}\n'
    assert told(text).cause == cause


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        ("forward", "rank-crashed-first"), ("compute_loss", "rank-crashed-first"),
        ("validation_step", "rank-crashed-first"), ("visualize_wings", "rank-crashed-first"),
        ("tokenize", "dataset-format-error"), ("__getitem__", "dataset-format-error"),
    ],
)  # fmt: skip
def test_a_batch_in_the_model_s_own_code_is_the_program_s(function: str, cause: str) -> None:
    frame = f'File "/r/main.py", line 7, in {function}'
    assert told(raised("KeyError: 'wings'", frame, "x = batch['wings']")).cause == cause


def test_what_was_being_handled_when_the_user_ended_the_program_is_no_cause() -> None:
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    text = raised("IndexError: pop from an empty deque") + chained
    assert told(text + raised("KeyboardInterrupt")).cause == "cancelled-by-user"
    assert told(text + raised("ValueError: no wing")).cause == "rank-crashed-first"


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("AttributeError: 'OrderedDict' object has no attribute 'seek'", "rank-crashed-first"),
        ("RuntimeError: invalid header or archive is corrupted", "checkpoint-corrupt-resume-fail"),
    ],
)
def test_the_place_says_nothing_of_a_mistaken_object(said: str, cause: str) -> None:
    frame = 'File "/v/site-packages/torch/serialization.py", line 308, in _check_seekable'
    assert told(raised(said, frame)).cause == cause


def test_a_mistake_of_the_program_is_not_of_its_subject() -> None:
    frame = 'File "/r/data/dataset.py", line 7, in load_dataset'
    assert (
        told(raised("UnboundLocalError: local variable 'wing' referenced", frame)).cause
        == "rank-crashed-first"
    )


def test_ranks_that_left_before_the_scheduler_ended_the_others() -> None:
    left = "srun: error: n3: tasks 0-2: Exited with exit code 1\n"
    ended = "slurmstepd: error: *** STEP 39.0 ON n3 CANCELLED AT 2026-01-15T15:50:37 ***\n"
    assert told(left + ended).cause == "rank-crashed-first"
    assert told(ended).cause == "cancelled-by-user"


def test_the_class_of_an_exception_is_no_machine() -> None:
    """torch before 1.1 raised the exception of a loader's worker with its traceback as the message."""
    text = raised(
        "FileNotFoundError: Traceback (most recent call last):", 'File "/v/dataloader.py", line 6, in next'
    )
    text += f"  {WORKER}\nFileNotFoundError: [Errno 2] No such file or directory: '/d/images/a.jpg'\n"
    found = told(text)
    assert (found.cause, found.where.node) == ("dataset-file-missing-on-node", None)
    assert found.where.line == 5
