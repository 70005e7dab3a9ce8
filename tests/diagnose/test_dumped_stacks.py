"""Stacks of hanging processes in a log, as faulthandler and `py-spy dump` print them."""

from __future__ import annotations

import pytest

from allranks.diagnose import Diagnosis, diagnose, parse

STEPS = "".join(f"step {n} loss 2.5\n" for n in range(5))
C10D = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
GRAPH = "/v/lib/python3.11/site-packages/torch/autograd/graph.py"
CAUSE = "collective-timeout-straggler"

REDUCE = ((C10D, 3252, "all_reduce"), ("/r/train.py", 24, "<module>"))
BACKWARD = ((GRAPH, 979, "_engine_run_backward"), ("/r/train.py", 22, "<module>"))
LOCK = (("/r/owls.py", 10, "add"), ("/r/owls.py", 20, "flush"), ("/r/train.py", 26, "<module>"))
LOADER = (
    ("/v/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 1133, "_try_get_data"),
    *REDUCE[1:],
)
READER = (("/r/owls.py", 70, "read_ahead"),)
Stack = tuple[tuple[str, int, str], ...]


def faulthandler(stack: Stack, number: int = 1, head: str = "Thread") -> str:
    frames = "".join(f'  File "{file}", line {line} in {name}\n' for file, line, name in stack)
    return f"{head} 0x00007f30fe7bcb{number:02} (most recent call first):\n{frames}"


def timed_out(stack: Stack, number: int = 1) -> str:
    return "Timeout (0:00:10)!\n" + faulthandler(READER, number + 50) + "\n" + faulthandler(stack, number)


def py_spy(stack: Stack, number: int = 1) -> str:
    def thread(name: str, frames: Stack) -> str:
        shown = "".join(
            f"    {name} ({file.partition('site-packages/')[2] or file}:{line})\n"
            for file, line, name in frames
        )
        return f'Thread {number} (idle): "{name}"\n{shown}'

    head = f"Process {number}: python -u train.py --owls 3\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
    native = "    epoll_wait (libc.so.6)\n    std::thread::join(std::thread&) (libstdc++.so.6.0.30)\n"
    first, _, rest = thread("MainThread", stack).partition("\n")
    return f"{head}{first}\n{native}{rest}" + thread("Thread-1 (read_ahead)", READER)


def current(stack: Stack, number: int = 1) -> str:
    return faulthandler(stack, number, "Current thread")


def told(text: str, name: str = "x.log") -> Diagnosis:
    return diagnose(parse(text, name))


def of_ranks(*dumps: str) -> Diagnosis:
    """Each rank has a log of its own."""
    lines = []
    for rank, dump in enumerate(dumps):
        text = f"rank {rank} of {len(dumps)}\n{STEPS}watch: no step for 10 s\n{dump}"
        lines += list(parse(text, f"logs/worker_{rank}.log"))
    return diagnose(lines)


@pytest.mark.parametrize("printed", [timed_out, py_spy, current])
@pytest.mark.parametrize(("stuck", "place"), [(LOCK, "owls.py:10 in "), (LOADER, "data loader")])
def test_the_process_that_the_others_wait_for(printed, stuck: Stack, place: str) -> None:
    found = of_ranks(printed(REDUCE, 1), printed(stuck, 2), printed(BACKWARD, 3))
    assert (found.cause, found.confidence, found.where.rank) == (CAUSE, "likely", 1)
    assert any(place in line for line in found.evidence)
    assert any("2 other processes: it waits in " in line for line in found.evidence)
    in_one = told(STEPS + printed(REDUCE, 1) + printed(stuck, 2) + printed(REDUCE, 3))
    assert (in_one.cause, in_one.where.rank) == (CAUSE, None)  # whose stack it is is not said


@pytest.mark.parametrize("printed", [timed_out, py_spy, current])
def test_ranks_that_a_supervisor_names_above_each_dump(printed) -> None:
    dumps = [
        f"stack of rank {rank}:\n{printed(stack, rank)}" for rank, stack in enumerate((REDUCE, LOCK, REDUCE))
    ]
    assert told(STEPS + "".join(dumps)).where.rank == 1
    dumps[0] = dumps[0].replace("rank 0", "rank 1")  # so these are no names of ranks
    assert told(STEPS + "".join(dumps)).where.rank is None


def test_two_processes() -> None:
    assert of_ranks(current(LOCK), current(REDUCE)).where.rank == 0
    for other in (LOCK, REDUCE):
        assert of_ranks(current(other), current(other)).cause != CAUSE  # both are at the same place
    assert of_ranks(current(LOCK), current(LOADER)).cause != CAUSE


def test_three_processes_of_which_none_is_known_to_wait() -> None:
    assert of_ranks(current(BACKWARD), current(LOCK), current(BACKWARD)).where.rank == 1
    assert of_ranks(current(READER), current(READER), current(LOCK)).where.rank == 2
    assert of_ranks(current(READER), current(LOADER), current(LOCK)).cause != CAUSE
    assert of_ranks(current(LOCK), current(LOCK), current(REDUCE)).cause != CAUSE


def test_the_last_dump_of_a_process_counts() -> None:
    dumps = [
        timed_out(first) + "watch: again\n" + timed_out(last)
        for first, last in ((LOCK, REDUCE), (REDUCE, LOCK))
    ]
    assert of_ranks(*dumps).where.rank == 1


def test_a_job_that_goes_on_after_a_dump_was_only_slow() -> None:
    dumps = [timed_out(stack) for stack in (REDUCE, LOCK, REDUCE)]
    assert of_ranks(*dumps).cause == CAUSE
    assert of_ranks(*(dump + "step 6 loss 2.4\n" for dump in dumps)).cause == "benign-noise"


def test_the_stack_of_a_crash_shows_no_hang() -> None:
    crash = "Fatal Python error: Segmentation fault\n\n"
    found = of_ranks(crash + current(LOCK), current(REDUCE), current(REDUCE))
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 0)
    both = crash + faulthandler(REDUCE, 7) + "\n" + current(LOCK)
    assert of_ranks(both, current(REDUCE), current(REDUCE)).cause == "rank-crashed-first"


def test_all_ranks_that_a_supervisor_killed_after_a_hang() -> None:
    killed = "watch: exit codes [-9, -9, -9]\n"
    dumps = "".join(
        f"stack of rank {rank}:\n{current(s, rank)}" for rank, s in enumerate((REDUCE, LOCK, REDUCE))
    )
    found = told(STEPS + dumps + killed)
    assert (found.cause, found.where.rank) == (CAUSE, 1)
    alone = told(STEPS + killed)
    assert (alone.cause, alone.where.rank) == ("rank-sigkilled", None)


def test_an_exception_of_the_late_rank_says_more() -> None:
    raised = "Traceback (most recent call last):\n  File \"/r/owls.py\", line 10, in add\nKeyError: 'owl'\n"
    found = of_ranks(current(REDUCE), current(LOCK) + raised, current(REDUCE))
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 1)


def test_a_timeout_that_is_reported_too() -> None:
    late = "RuntimeError: [gloo/unbound_buffer.cc:129] Timed out waiting 12000ms for recv operation to complete\n"
    found = of_ranks(current(REDUCE) + late, current(LOCK), current(REDUCE) + late)
    assert (found.cause, found.where.rank) == (CAUSE, 1)
    assert any("owls.py:10" in line for line in found.evidence)
    assert any("Timed out" in line for line in found.evidence)


def test_a_stack_of_which_only_the_others_timeouts_tell_the_rank() -> None:
    dumps = "".join(current(stack, n) for n, stack in enumerate((REDUCE, LOCK, REDUCE)))
    late = (
        "[rank{}]: RuntimeError: [gloo/unbound_buffer.cc:129] Timed out waiting 12000ms for recv operation\n"
    )
    said = "".join(f"[rank{rank}] step {n} loss 2.5\n" for n in range(4) for rank in range(3))
    found = told(said + dumps + late.format(0) + late.format(2))
    assert (found.cause, found.where.rank) == (CAUSE, 1)
    assert told(said + dumps + late.format(2)).where.rank is None
