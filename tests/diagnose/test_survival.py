"""What a training survived, what belongs to another day or to its data, and what a program had dealt with."""

from __future__ import annotations

import pytest

from allranks.core import Diagnosis
from allranks.diagnose import Evidence, conclude, parse

OWN_ERROR = (
    "Traceback (most recent call last):\n"
    '  File "/home/u/train.py", line 20, in main\n    x = batch["labels2"]\n'
    "KeyError: 'labels2'\n"
)
END = "{'train_runtime': 120.5, 'train_loss': 1.2, 'epoch': 1.0}\n"
OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has"
FAILED = "E0105 10:11:12.123000 4321 api.py:882] failed (exitcode: 1) local_rank: 3 (pid: 4330) of binary: python\n"


def steps(count: int, first: int = 1) -> str:
    return "".join(
        f"{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.1}}\n" for n in range(first, first + count)
    )


def told(*logs: tuple[str, str]) -> Diagnosis:
    seen = Evidence()
    for name, text in logs:
        for line in parse(text, name):
            seen.add(line)
    return conclude(seen)


WARNINGS = (
    "WARNING: could not write the compile cache: [Errno 28] No space left on device\n",
    "git@github.com: Permission denied (publickey).\n",
    "WARNING: libcudart.so.11.0: cannot open shared object file: No such file or directory\n",
    f"WARNING: {OUT_OF_MEMORY}. Falling back to a smaller batch\n",
    "ssh: Could not resolve hostname login9: Name or service not known\n",
)


@pytest.mark.parametrize("warning", WARNINGS)
def test_what_a_program_dealt_with_is_not_the_reason_for_its_own_later_mistake(warning: str) -> None:
    assert told(("x.log", warning + steps(3) + OWN_ERROR)).cause == "rank-crashed-first"
    assert told(("x.log", warning + OWN_ERROR)).confidence == "likely", "no step lies between"


@pytest.mark.parametrize("warning", WARNINGS)
def test_a_training_that_goes_on_makes_a_warning_less_sure(warning: str) -> None:
    assert told(("x.log", warning)).confidence == "certain"
    assert told(("x.log", warning + steps(3))).confidence == "likely"
    assert told(("x.log", warning + steps(2))).confidence == "certain", "rank 0 prints a step or two late"


def test_a_training_that_was_started_again_and_ended_is_fine() -> None:
    crash = "[rank3]: Traceback (most recent call last):\n[rank3]: " + OUT_OF_MEMORY + "\n" + FAILED
    assert told(("x.log", steps(5) + crash + steps(20) + END)).cause == "benign-noise"
    assert told(("x.log", steps(5) + crash + END)).cause == "cuda-oom", (
        "rank 0 came to its end before it was told"
    )
    assert told(("x.log", steps(5) + crash + steps(20))).cause != "benign-noise"


KILLED = "node1 kernel: Out of memory: Killed process 1234 (chrome) total-vm:1234kB, anon-rss:123kB\n"


def dated(text: str, day: int) -> str:
    return f"2026-01-{day:02} 10:11:12 INFO start\n{text}2026-01-{day:02} 10:12:12 INFO here\n"


@pytest.mark.parametrize(
    ("day", "rest", "cause", "confidence"),
    [
        (2, OWN_ERROR, "rank-crashed-first", "likely"),
        (9, OWN_ERROR, "cpu-oom-killed", "certain"),
        (20, OWN_ERROR, "rank-crashed-first", "likely"),
        (2, END, "benign-noise", "certain"),
        (9, END, "benign-noise", "certain"),
    ],
)
def test_a_machines_log_counts_if_it_is_of_the_same_time(day, rest, cause, confidence) -> None:
    """A container's clock and its machine's may be in other time zones."""
    answer = told(("train.log", dated(steps(3), 9) + rest), ("messages", f"Jan {day:2} 03:04:05 {KILLED}"))
    assert (answer.cause, answer.confidence) == (cause, confidence)


def test_a_machines_log_without_a_time_to_compare_is_less_sure() -> None:
    answer = told(("train.log", steps(3) + OWN_ERROR), ("messages", f"Jan  2 03:04:05 {KILLED}"))
    assert (answer.cause, answer.confidence) == ("cpu-oom-killed", "likely")


def test_an_example_of_the_data_says_nothing_of_the_training() -> None:
    """As LLaMA-Factory prints it."""
    sample = (
        "training example:\ninput_ids:\n[1, 2, 3]\ninputs:\n<|im_start|>user\nMy job fails with:\n"
        f"{OUT_OF_MEMORY}\nwhy?<|im_end|>\nlabel_ids:\n[-100, 3]\nlabels:\nno idea\n"
    )
    assert told(("x.log", sample + steps(2) + OWN_ERROR)).cause == "rank-crashed-first"
    assert told(("x.log", sample + steps(3) + END)).cause == "benign-noise"
    assert told(("x.log", sample + steps(2) + OUT_OF_MEMORY + "\n")).cause == "cuda-oom"


def test_an_error_is_kept_although_the_same_one_was_survived_before() -> None:
    caught = "".join(OUT_OF_MEMORY + ", batch skipped\n" + steps(1, n) for n in range(3))
    crash = (
        f'Traceback (most recent call last):\n  File "/home/u/t.py", line 2, in f\n    f()\n{OUT_OF_MEMORY}\n'
    )
    answer = told(("x.log", caught + steps(50) + crash))
    assert answer.cause == "cuda-oom" and answer.where.line == 60


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("saves/lora_rank_64/train.log", 3),
        ("llama-rank16-lr1e5.log", 3),
        ("runs/rank64/train.log", None),  # of which no run of eight ranks can be
        ("logs/rank-5.log", 5),
        ("saves/qwen/lora/rank-5.log", 5),  # LLaMA-Factory's own layout
        ("logs/sft-lora-rank-5.log", 5),
        ("logs/bs8_rank_5.log", 5),
        ("exploration/colorado-rank5.log", 5),
    ],
)
def test_a_rank_of_lora_in_a_files_name_is_no_process(name: str, rank: int | None) -> None:
    text = "world_size: 8\n" + steps(3) + OWN_ERROR + FAILED
    assert told((name, text)).where.rank == rank


def test_a_machine_of_another_log_is_not_named() -> None:
    other = "".join(f"Jan  9 10:1{n}:00 headnode1 sshd[12]: session opened for user u\n" for n in range(2))
    assert told(("train.log", steps(3) + OWN_ERROR), ("messages", other)).where.node is None


def test_lora_in_a_message_is_no_process() -> None:
    text = "Traceback (most recent call last):\nValueError: LoRA rank 64 is larger than 32\n"
    assert told(("x.log", text)).where.rank is None
