"""Programs that their users interrupted: was it because of an earlier error?"""

from __future__ import annotations

import pytest

from allranks.diagnose import parse
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.store import RANKS_KEPT
from tests.diagnose.test_earlier_runs import WORK, raised, told

WORKS = 'File "/r/main.py", line 9, in step'
CTRL_C = raised("KeyboardInterrupt", WORKS)


def test_what_a_program_was_handling_when_its_user_ended_it_is_no_cause() -> None:
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    before = raised("TypeError: getresponse() got an unexpected keyword argument 'buffering'")
    assert told(WORK + before + chained + CTRL_C).cause == "cancelled-by-user"
    assert told(WORK + before).cause == "version-drift-transformers-peft"


def test_who_interrupts_a_program_that_works_does_not_do_so_because_of_an_earlier_error() -> None:
    before = raised("AssertionError: wings") + WORK[: 46 * 40]
    assert told(before + CTRL_C).cause == "cancelled-by-user"


WAITS = (
    'File "/usr/lib/python3.11/threading.py", line 1116, in join',
    'File "/v/torch/cuda/__init__.py", line 900, in synchronize',
    'File "/v/torch/distributed/distributed_c10d.py", line 2806, in all_reduce',
    'File "/usr/lib/python3.11/multiprocessing/connection.py", line 379, in _recv',
    'File "/v/torch/autograd/graph.py", line 700, in _engine_run_backward',
    'File "/usr/lib/python3.11/asyncio/runners.py", line 123, in run',
)


@pytest.mark.parametrize("frame", WAITS)
def test_who_interrupts_a_program_that_waits_may_do_so_because_of_an_earlier_error(frame: str) -> None:
    before = raised("AssertionError: wings") + WORK[: 46 * 40]
    assert told(before + raised("KeyboardInterrupt", frame)).cause == "rank-crashed-first"


@pytest.mark.parametrize("frame", [WORKS, WAITS[0]])
def test_a_failure_that_ends_any_program_counts_although_its_user_interrupted_its_end(frame: str) -> None:
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    text = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB") + chained
    assert told(WORK + text + raised("KeyboardInterrupt", frame)).cause == "cuda-oom"


def test_many_interrupted_handlers_take_little_memory() -> None:
    seen = Evidence()
    seen.handled.update(range(-RANKS_KEPT, 0))
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    for line in parse(raised("KeyError: 'wings'") + chained + CTRL_C, "x.log"):
        seen.add(line)
    assert len(seen.handled) == RANKS_KEPT


def test_caffe_says_that_it_was_interrupted() -> None:
    steps = "".join(f"I0610 15:28:4{n}.46 28 solver.cpp:244] Iteration {n}, loss = 3.8\n" for n in range(9))
    assert (
        told(f"{steps}I0610 15:28:49.6 28 solver.cpp:301] Optimization stopped early.\n").cause
        == "cancelled-by-user"
    )


@pytest.mark.parametrize(
    "line", ["^C at epoch 19 of 200. Partial owl saved", "(0) interrupted from keyboard at step 27, leaving"]
)
def test_a_program_that_its_user_interrupted_and_that_left_in_order(line: str) -> None:
    steps = "".join(f"epoch {n}/200 loss 0.{n}\n" for n in range(30))
    assert told(f"{steps}{line}\nHave a nice day!\n").cause == "cancelled-by-user"
    assert told(f"{line}\n{steps}").cause != "cancelled-by-user"
