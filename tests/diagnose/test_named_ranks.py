"""The rank that launchers, schedulers and other ranks name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from allranks.core import Diagnosis
from allranks.diagnose import Evidence, conclude, diagnose, parse
from tests.diagnose.test_earlier_runs import raised

TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
train.py FAILED
Failures:
[1]:
  time      : 2025-05-20_10:00:05
  host      : owl1
  rank      : 1 (local_rank: 1)
  exitcode  : -6 (pid: 4243)
Root Cause (first observed failure):
[0]:
  time      : 2025-05-20_10:00:01
  host      : owl1
  rank      : 3 (local_rank: 3)
  exitcode  : {} (pid: 4242)
"""
AWAITED = (
    "[rank3]: torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId "
    "from [0] via c10d key-value store by key '0', but store->get('0') got error: Timeout waiting for key\n"
)
INTEL = "=   RANK 2 PID 4123 RUNNING AT owl1\n=   KILLED BY SIGNAL: 9 (Killed)\n"
TAKEN = "zmq.error.ZMQError: Address already in use\n"
PADDLE = "Container rank 1 status failed cmd ['/usr/bin/python', 'train.py'] code 1 log owls/workerlog.1\n"


@pytest.mark.parametrize(
    ("text", "cause", "rank"),
    [
        pytest.param(TABLE.format(-9), "rank-sigkilled", 3, id="an abort after a kill is an echo"),
        pytest.param(TABLE.format(-11), "rank-crashed-first", 3, id="a crash before an abort"),
        pytest.param(
            "[rank: 2] Child process with PID 4123 terminated with code 1\n", None, 2, id="Lightning"
        ),
        pytest.param(AWAITED, "rendezvous-timeout", 0, id="the rank whose NCCL id never came"),
        pytest.param(
            "[rank1]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0\n",
            None,
            0,
            id="rank 0 writes the id of the group of all",
        ),
        pytest.param(
            "[rank1]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /owls/0//cuda//0\n",
            None,
            None,
            id="of another group nobody knows who writes it",
        ),
        pytest.param(PADDLE, None, 1, id="PaddlePaddle"),
        pytest.param(
            "owls - ERROR - Rank[5] failed.\n" + TAKEN, "rendezvous-port-in-use", 5, id="a line beside it"
        ),
        pytest.param(
            "owls - ERROR - Rank[5] failed.\nowls - ERROR - Rank[6] failed.\n" + TAKEN,
            None,
            None,
            id="two of them",
        ),
        pytest.param(
            AWAITED.replace("retrie", "retrei"), "rendezvous-timeout", 0, id="as older versions spell it"
        ),
        pytest.param(INTEL, "rank-sigkilled", 2, id="Intel MPI"),
        pytest.param(
            INTEL + INTEL.replace("RANK 2", "RANK 5").replace("9 (Killed)", "11 (Segmentation fault)"),
            "rank-crashed-first",
            5,
            id="Intel MPI kills the others",
        ),
    ],
)
def test_the_rank_that_others_name(text: str, cause: str | None, rank: int | None) -> None:
    found = diagnose(parse(text, "x.log"))
    assert found.where.rank == rank
    assert cause in (None, found.cause)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[R1/2] the owl sleeps", 1),
        ("[trainer0]:the owl sleeps", None),  # a local rank
        ("(actor 3, pid 6480) the owl sleeps", 3),
        ("14:14:42 [0] the owl sleeps", 0),
        ("2026-11-30 12:06:40,225 rank=0 batch 1 loss 4.6", 0),
        ("rank=1 step=0 loss=1.4", 1),
        ("14:14:42 (worker 2) the owl sleeps", 2),
        ("rank=8 alpha=16", None),  # of LoRA
        ("rank=64 target_modules=q_proj", None),
        ("Worker 2: the owl sleeps", None),  # it may be one of a pool
    ],
)
def test_the_rank_in_a_programs_own_prefix(line: str, rank: int | None) -> None:
    (read,) = parse(line, "x.log")
    assert (read.rank, read.node) == (rank, None)


@pytest.mark.parametrize("source", ["out/1/rank.3/stderr", "logs/1_rank.3_stderr"])
def test_the_rank_in_the_name_of_open_mpis_files(source: str) -> None:
    (read,) = parse("the owl sleeps", source)
    assert read.rank == 3


LOST = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:12724\n"


@pytest.mark.parametrize(
    ("ended", "cause"),
    [
        ("start.py: worker 1 is back (-9)\n", "rank-sigkilled"),
        ("actor 1 returned 137\n", "rank-sigkilled"),
        ("rank 1 exited with status 3\n", "rank-crashed-first"),
        ("DataLoader worker 1 returned 1\n", "nccl-remote-process-exited"),
        ("rank 1 exited barrier 12\n", "nccl-remote-process-exited"),
        ("actor 1 returned -11\n", "nccl-remote-process-exited"),  # a reward
        ("worker 1 returned 17\n", "nccl-remote-process-exited"),
        ("run_slots: rank 1 (s02): ended by SIGTERM\n", "rank-terminated"),
        ("worker 1 was killed by signal 9 (Killed)\n", "rank-sigkilled"),
        ("start.py: rank 1 (owl7) died on SIGSEGV\n", "rank-crashed-first"),
        ("ERROR worker 1 (pid 2081) finished with returncode -9\n", "rank-sigkilled"),
        ("watch: exit codes [1, -9, 1]\n", "rank-sigkilled"),
        ('{"src": "supervisor", "returncodes": [1, -9, 1]}\n', "rank-sigkilled"),
        ("rank 1 stopped by SIGNAL\n", "nccl-remote-process-exited"),
        ("rank 1 died of signal noise\n", "nccl-remote-process-exited"),
    ],
)
def test_the_end_of_a_rank_as_scripts_report_it(ended: str, cause: str) -> None:
    found = diagnose(parse(f"[rank0]: {LOST}[rank2]: {LOST}{ended}", "x.log"))
    assert found.cause == cause
    assert found.where.rank == (1 if cause != "nccl-remote-process-exited" else None)


def test_the_exception_that_torchruns_table_quotes() -> None:
    def row(number: int, rank: int, error: str) -> str:
        return (
            f"[{number}]:\\n  rank      : {rank} (local_rank: {rank})\\n  exitcode  : 1 (pid: {900 + rank})\\n"
            "  error_file: /tmp/error.json\\n  traceback : Traceback (most recent call last):\\n"
            f'    File "/r/ppo.py", line 19, in main\\n      go()\\n  {error}\\n  \\n'
        ).replace("\\n", "\n")

    head = "ChildFailedError:\nppo.py FAILED\nFailures:\n"
    root = "Root Cause (first observed failure):\n"
    text = head + row(1, 0, LOST.rstrip()) + root + row(0, 2, "AssertionError: ((31,), (32,))")
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_the_rank_in_the_line_above_a_traceback() -> None:
    raised = 'Traceback (most recent call last):\n  File "/r/main.py", line 7, in go\nIndexError: index out of range\n'
    said = "ERROR:root:main() of rank 1 left with an exception\n"
    assert diagnose(parse(said + raised, "x.log")).where.rank == 1
    assert diagnose(parse(said + "the owl sleeps\n" + raised, "x.log")).where.rank is None
    assert diagnose(parse(said.replace(" rank 1", " local rank 1") + raised, "x.log")).where.rank is None


WAITED = (
    "RuntimeError: Rank {} successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
    "rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n"
    "[/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation"
)


def test_rank_0_may_only_have_waited_in_a_monitored_barrier() -> None:
    head = 'Traceback (most recent call last):\n  File "/r/main.py", line 7, in go\n'
    text = "".join(
        f"[rank{rank}]: {line}\n" for rank in (1, 3) for line in (head + WAITED.format(rank)).splitlines()
    )
    both = "[rank0]: vocabulary ready\n[rank2]: cache/vocabulary.lock is held, retrying\n"
    assert diagnose(parse(both + text, "x.log")).where.rank == 2
    assert diagnose(parse(both.splitlines()[0] + "\n" + text, "x.log")).where.rank == 0


def test_the_only_rank_with_a_traceback_is_not_guilty_if_it_lost_a_peer() -> None:
    head = "[rank1]: Traceback (most recent call last):\n"
    told = "OSError: [Errno 28] No space left on device: '/ckpt/owl.pt'\n"
    assert diagnose(parse(told + head + f"[rank1]: {LOST}", "x.log")).where.rank is None
    assert diagnose(parse(told + head + "[rank1]: KeyError: 'owl'\n", "x.log")).where.rank == 1


OOM = raised(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"
)


def of_logs(count: int, first: int, failing: Callable[[int], bool]) -> Diagnosis:
    """One log of each rank in the order of their names. The rank `first` fails first."""
    seen = Evidence()
    for rank in sorted(range(count), key=str):
        second = 10 if rank == first else 20 + rank % 30
        text = f"2026-11-30 10:05:{second},123 ERROR failed\n{OOM}" if failing(rank) else "idle words\n"
        for line in parse(text, f"rank_{rank}.log"):
            seen.add(line)
    return conclude(seen)


def test_all_of_many_ranks_are_counted_and_the_first_one_is_shown() -> None:
    found = of_logs(900, 777, lambda rank: True)
    assert found.where.file == "rank_777.log" and "900 of 900 ranks say it" in found.why


def test_the_first_of_many_ranks_may_have_a_late_log() -> None:
    found = of_logs(900, 777, lambda rank: rank % 3 == 0)
    assert (found.cause, found.where.rank) == ("cuda-oom", 777)


def test_the_first_of_few_ranks_may_have_a_late_log() -> None:
    assert of_logs(8, 5, lambda rank: rank in (1, 3, 5)).where.rank == 5


@pytest.mark.parametrize(
    ("names", "rank"),
    [
        (("run-0.log", "run-1.log", "run-2.log"), 1),
        (("a/run-0.log", "b/run-1.log", "c/run-2.log"), None),
        (("run-1.log", "run-2.log", "run-3.log"), None),  # these may be machines
        (("run-0.log", "run-1.log", "run-3.log"), None),
        (("step-0.log", "step-1.log", "step-2.log"), None),
    ],
)
def test_logs_of_ranks_by_their_numbers_alone(names: tuple[str, ...], rank: int | None) -> None:
    head = 'Traceback (most recent call last):\n  File "/r/main.py", line 7, in go\n'
    lines = [
        line
        for n, name in enumerate(names)
        for line in parse(head + (LOST, "KeyError: 'owl'\n")[n == 1], name)
    ]
    found = diagnose(lines)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", rank)


def test_a_label_that_is_learned_as_a_prefix_only_later() -> None:
    def lost(rank: int) -> str:
        return f"[{rank}] [rank{rank}]: Traceback (most recent call last):\n[{rank}] [rank{rank}]: {LOST}"

    said = {
        rank: f"[{rank}] INFO part {rank}: {rank * 7 + 9} owls\n[{rank}] INFO scorer received\n"
        for rank in range(4)
    }
    text = f"{said[2]}[2] WARNING only 23 owls, nothing to do here\n" + "".join(
        said[n] + lost(n) for n in (3, 1, 0)
    )
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == ("rank-exited-early", 2)
