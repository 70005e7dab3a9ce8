"""Causes that a second look tells apart: a watchdog's abort, a node gone before, a GPU's fault."""

from __future__ import annotations

import pytest

from allranks.core import Event
from allranks.monitor import Watch
from allranks.runs.keeper_spares import needs_reset

WATCHDOG = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=101, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600012 milliseconds "
    "before timing out.\nterminate called after throwing an instance of 'c10::DistBackendError'\n"
)
REMOTE = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Process group watchdog thread "
    "terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.27.3\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
    "n0:100:200 [0] NCCL WARN Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 len=0 vendor err 129\n"
    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
)
OWN_GPU = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:1895] [Rank {0}] Process group watchdog thread terminated with exception: "
    "CUDA error: an illegal memory access was encountered\nNCCL communicator was aborted\n"
)
XID = "NVRM: Xid (PCI:0000:53:00): 79, pid={}, GPU has fallen off the bus."
UNHANDLED = "NCCL error in: ProcessGroupNCCL.cpp:1333, unhandled cuda error, NCCL version 2.27.3"
GONE = "NCCL error in: ProcessGroupNCCL.cpp:1333, remote process exited or there was a network error"


class Run:
    """Three nodes of one rank that take a step a second until `steps`."""

    def __init__(self, steps=100):
        self.steps = steps
        self.watch = Watch({"world_size": 3, "steps": 1000})
        for n in range(3):
            self.say(0.0, "joined", n)
            self.say(0.0, "supervisor", n, process={"boot_id": f"boot-{n}"})
            start = {"pid": 100 + n, "start_time": 1, "boot_id": f"boot-{n}", "world_size": 3}
            self.tell(0.1, "start", n, **start)
        for second in range(1, steps + 1):
            self.live(second)
            for n in range(3):
                self.tell(
                    second, "beat", n, phase="training", step=second, steps=[[second, 3.0, 1.0, 0, 1, 1e-5]]
                )
            self.watch.tick(float(second))

    def say(self, at, kind, node, **data):
        self.watch.add(Event(float(at), kind, f"n{node}", None, data))

    def tell(self, at, kind, rank, **data):
        self.watch.add(Event(float(at), kind, f"n{rank}", rank, data))

    def live(self, at, *nodes):
        for n in nodes or range(3):
            self.watch.heard(f"n{n}", float(at))

    def wait(self, first, last, *ranks, without=()):
        """Nothing moves, and these ranks still beat; all nodes are heard but these."""
        for second in range(first, last):
            self.live(second, *(n for n in range(3) if n not in without))
            for n in ranks:
                self.tell(second, "beat", n, phase="training", step=self.steps)
            self.watch.tick(float(second))

    def abort(self, at, rank, text, code=-6):
        self.tell(at, "rank-gone", rank, pid=100 + rank, code=None)
        self.say(at + 0.4, "torchrun-ended", rank, code=1, failures=[{"rank": rank, "code": code}])
        if text:
            self.watch.add_log(f"n{rank}", f"rank-{rank}.log", text.format(rank))

    def raised(self, at, rank, text, communication, kind="RuntimeError"):
        frames = [["/u/train.py", 3, "step"]]
        data = {"type": kind, "message": text, "frames": frames, "communication": communication}
        self.tell(at, "exception", rank, **data)
        self.tell(at + 0.2, "rank-gone", rank, pid=100 + rank, code=None)

    def kernel(self, at, node, *lines, why=None):
        self.say(at, "kernel", node, lines=list(lines), why=why)

    def end(self, at, code=1):
        for n in range(3):
            self.say(at, "torchrun-ended", n, code=1, failures=[{"rank": n, "code": code}])


# ---- a watchdog's abort is no crash ----


def left_early():
    run = Run()
    run.tell(100.5, "beat", 1, phase="done", step=100)
    run.tell(100.6, "end", 1, code=0)
    run.tell(100.7, "rank-gone", 1, pid=101, code=None)
    run.wait(101, 114, 0, 2)
    run.say(114, "evidence", 0, why="no-progress")
    run.wait(115, 700, 0, 2)
    return run


def test_ranks_that_a_watchdog_aborted_are_no_crash_where_another_left_early():
    run = left_early()
    for rank in (0, 2):
        run.abort(701.0 + rank / 10, rank, WATCHDOG)
    verdict = run.watch.verdict(705.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 1)
    assert {where.rank for where in verdict.collateral} == {0, 2}


def test_it_does_not_matter_how_often_and_how_late_the_others_were_asked():
    run = left_early()
    for at in (200, 400, 690):
        run.say(at, "evidence", 0, why="no-progress")
    for rank in (0, 2):
        run.abort(701.0 + rank / 10, rank, "")
    run.say(701.2, "stopping", 0, why="the run failed")
    run.watch.add_log("n0", "rank-0.log", WATCHDOG.format(0))
    run.watch.add_log("n2", "rank-2.log", WATCHDOG.format(2))
    verdict = run.watch.verdict(705.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 1)


def test_ranks_that_a_watchdog_aborted_blame_the_silent_one():
    run = Run()
    run.wait(101, 700, 0, 1, 2)
    for rank in (0, 2):
        run.abort(701.0 + rank / 10, rank, WATCHDOG)
    run.tell(703.0, "rank-gone", 1, pid=101, code=-15)
    verdict = run.watch.verdict(705.0)
    assert (verdict.cause, verdict.where.rank) == ("collective-timeout-straggler", 1)
    assert verdict.first_seen == pytest.approx(701.0)


def test_where_all_were_aborted_their_numbers_tell_who_came_last():
    run = Run()
    run.wait(101, 700, 0, 1, 2)
    for rank, done in ((0, 100), (1, 97), (2, 100)):
        last = (
            "[rank{0}]:[E ProcessGroupNCCL.cpp:1664] [PG 1 Rank {0}] Exception (either an error or timeout) detected "
            f"by watchdog at work: {done + 1}, last enqueued NCCL work: {done + 2}, last completed NCCL work: {done}.\n"
        )
        run.abort(701.0 + rank / 10, rank, WATCHDOG.replace("SeqNum=101", f"SeqNum={done + 1}") + last)
    verdict = run.watch.verdict(705.0)
    assert (verdict.cause, verdict.where.rank) == ("collective-timeout-straggler", 1)


def test_an_abort_of_which_no_log_was_read_is_not_certain():
    run = Run()
    run.abort(101.0, 1, "")
    verdict = run.watch.verdict(105.0)
    assert (verdict.where.rank, verdict.confidence) == (1, "likely")
    run = Run()
    run.abort(101.0, 1, "python: loader.cpp:3: read: Assertion `size > 0' failed.\n")
    assert run.watch.verdict(105.0).confidence == "certain"


def test_a_watchdog_that_tells_of_its_own_gpu_is_a_crash():
    run = Run()
    run.abort(101.0, 1, OWN_GPU)
    run.abort(101.9, 0, REMOTE)
    verdict = run.watch.verdict(105.0)
    assert (verdict.cause, verdict.where.rank) == ("cuda-illegal-memory-access", 1)


def test_which_end_of_an_infiniband_connection_failed_is_not_certain():
    run = Run()
    run.wait(101, 113, 0, 1, 2)
    run.abort(113.0, 0, REMOTE)
    run.tell(114.0, "rank-gone", 1, pid=101, code=-15)
    run.tell(114.1, "rank-gone", 2, pid=102, code=-15)
    verdict = run.watch.verdict(120.0)
    assert (verdict.cause, verdict.confidence) == ("ib-transport-error", "likely")


# ---- a node that was gone before ----


def test_a_node_without_power_is_named_though_tcp_has_not_told_yet():
    """Over InfiniBand the others abort after about 12 s, the keeper's TCP tells of the loss after half a minute."""
    run = Run()
    run.wait(101, 113, 0, 2, without=[1])
    for rank in (0, 2):
        run.abort(112.6 + rank / 10, rank, REMOTE)
    verdict = run.watch.verdict(116.0)
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("node-failure", "n1", None)
    assert verdict.confidence != "certain"


def test_an_exception_that_a_lost_node_brought_about_is_not_the_cause():
    run = Run()
    run.wait(101, 130, 0, 2, without=[1])
    run.watch.add(Event(130.0, "lost", "n1", None, {"why": "silent"}))
    run.raised(131.0, 0, "expected 3 results, got 2", False, "AssertionError")
    assert run.watch.verdict(140.0).where.node == "n1"


def test_a_silent_node_without_which_the_others_train_on_is_no_cause():
    """The network of control is down, the ranks' own is not."""
    run = Run()
    for second in range(101, 160):
        run.live(second, 0, 2)
        for n in (0, 2):
            steps = [[second, 3.0, 1.0, 0, 1, 1e-5]]
            run.tell(second, "beat", n, phase="training", step=second, steps=steps)
    run.raised(160.0, 0, "'labels'", False, "KeyError")
    assert run.watch.verdict(165.0).where.rank == 0


# ---- what the kernel says of a GPU ----


def test_a_gpu_that_fell_off_the_bus_is_the_cause_where_all_ranks_blame_each_other():
    run = Run(50)
    run.raised(51.0, 1, UNHANDLED, True, "DistBackendError")
    run.kernel(51.3, 1, XID.format(101))
    for rank in (0, 2):
        run.raised(51.8, rank, GONE, True, "DistBackendError")
    run.end(52.5)
    verdict = run.watch.verdict(56.0)
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("xid-gpu-fault", "n1", 1)
    assert verdict.confidence == "certain" and any("Xid" in line for line in verdict.evidence)


CUDA = {
    "CUDA error: an illegal memory access was encountered": "cuda-illegal-memory-access",
    "CUBLAS_STATUS_EXECUTION_FAILED when calling cublas": "cublas-or-cudnn-error",
}
ILLEGAL, _ = CUDA


@pytest.mark.parametrize("text", CUDA)
@pytest.mark.parametrize(
    ("line", "cause", "confidence"),
    [
        (XID.format(101), "xid-gpu-fault", "certain"),
        (XID.format(7777), "xid-gpu-fault", "likely"),
        # A fault of the program's own: what the rank raised says more.
        ("NVRM: Xid (PCI:0000:53:00): 31, pid=101, MMU Fault", None, "likely"),
    ],
)
def test_a_cuda_error_with_an_xid_of_its_node(text, line, cause, confidence):
    run = Run(50)
    run.raised(51.0, 1, text, False)
    run.kernel(51.3, 1, line)
    verdict = run.watch.verdict(56.0)
    assert (verdict.cause, verdict.where.rank, verdict.confidence) == (cause or CUDA[text], 1, confidence)


ON_ITS_GPU = "NVRM: Xid (PCI:0000:53:00): {}"
RESET = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (["154, pid=101, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"], 154),
        (
            [
                "94, pid=101, Contained: SM",
                "45, pid=101, Ch 8",
                "45, pid=101, Ch 9",
                "45, pid=101, Ch 10",
                RESET,
            ],
            154,
        ),
        (["136, pid=101, Link training failed"], 136),
        (["140, pid=101, An uncorrectable ECC error detected"], 140),
        (["143, pid=101, GPU initialization error"], 143),
    ],
)
def test_a_gpu_that_must_be_reset_costs_its_node_the_place(said, number):
    """From the kernel's lines to the restart: with one table the verdict is as certain as the reset is needed."""
    run = Run(50)
    run.raised(51.0, 1, ILLEGAL, False)
    run.kernel(51.3, 1, *(ON_ITS_GPU.format(line) for line in said))
    verdict = run.watch.verdict(56.0)
    assert (verdict.cause, verdict.where.rank, verdict.confidence) == ("xid-gpu-fault", 1, "certain")
    assert needs_reset(verdict) == number


def test_what_was_repaired_is_no_failed_gpu():
    run = Run(50)
    run.raised(51.0, 1, ILLEGAL, False)
    run.kernel(51.3, 1, ON_ITS_GPU.format("63, pid=101, Row Remapper: New row marked for remapping"))
    assert run.watch.verdict(56.0).cause == CUDA[ILLEGAL]


def test_an_xid_is_no_reason_for_a_fault_of_the_code():
    run = Run(50)
    run.raised(51.0, 1, "'labels'", False, "KeyError")
    run.kernel(51.3, 1, XID.format(101))
    assert run.watch.verdict(56.0).cause == "rank-crashed-first"


def test_an_xid_of_another_jobs_gpu_is_left_alone():
    run = Run(50)
    gpu = {"uuid": "GPU-1", "bus_id": "00000000:17:00.0"}
    run.tell(50.5, "start", 1, pid=101, start_time=1, boot_id="boot-1", world_size=3, gpu=gpu)
    run.raised(51.0, 1, ILLEGAL, False)
    run.kernel(51.3, 1, XID.format(101))
    assert run.watch.verdict(56.0).cause == CUDA[ILLEGAL]
    run = Run(50)
    run.tell(
        50.5,
        "start",
        1,
        pid=101,
        start_time=1,
        boot_id="boot-1",
        world_size=3,
        gpu={**gpu, "bus_id": "00000000:53:00.0"},
    )
    run.raised(51.0, 1, ILLEGAL, False)
    run.kernel(51.3, 1, XID.format(7))
    verdict = run.watch.verdict(56.0)
    assert (verdict.cause, verdict.confidence) == ("xid-gpu-fault", "certain")


def stands_in_its_code(*lines):
    """Rank 1 sleeps in the script; n1's kernel has said these lines, and the run is stopped for it."""
    run = Run(50)
    run.wait(51, 64, 0, 1, 2)
    run.say(64, "evidence", 0, why="no-progress")
    run.kernel(64.2, 1, *lines)
    for rank in range(3):
        waits = ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"]
        frames = [["/u/train.py", 30, "main"], ["/u/data.py", 7, "sleep"] if rank == 1 else waits]
        run.tell(64.5, "stack", rank, frames=frames, by="inside")
    run.wait(65, 70, 0, 1, 2)
    run.say(70.5, "stopping", 1, why="rank-holds-up")
    run.tell(71.0, "rank-gone", 1, pid=101, code=-9)
    return run.watch.verdict(75.0)


@pytest.mark.parametrize(
    "line",
    [
        "nfs: server 10.0.0.9 not responding, still trying",
        "I/O error, dev sdc, sector 0",
        "Out of memory: Killed process 4242 (chrome)",
        XID.format(7777),
    ],
)
def test_what_a_kernel_says_of_something_else_is_no_reason_for_a_rank_that_sleeps(line):
    found = stands_in_its_code(line)
    assert (found.cause, found.where.rank, found.where.line) == ("collective-timeout-straggler", 1, 7)
    assert any(line in shown for shown in found.evidence)


def test_a_stalled_ranks_own_gpu_is_the_reason():
    found = stands_in_its_code(XID.format(101))
    assert (found.cause, found.where.rank, found.confidence) == ("xid-gpu-fault", 1, "certain")


def test_a_loaders_worker_that_the_kernel_ended_names_the_want_of_memory():
    run = Run(50)
    run.raised(51.0, 1, "DataLoader worker (pid 555) is killed by signal: Killed.", False)
    run.kernel(51.3, 1, "Memory cgroup out of memory: Killed process 555 (pt_data_worker)")
    verdict = run.watch.verdict(56.0)
    assert (verdict.cause, verdict.where.rank) == ("cpu-oom-killed", 1)


def test_a_kernel_that_nobody_may_ask_is_said():
    run = Run(50)
    run.tell(51.0, "rank-gone", 1, pid=101, code=-9)
    run.kernel(51.3, 1, why="/dev/kmsg: Operation not permitted")
    verdict = run.watch.verdict(56.0)
    assert verdict.cause == "rank-sigkilled"
    assert any(
        "kernel's log of n1 could not be read (/dev/kmsg: Operation not permitted)" in e
        for e in verdict.evidence
    )


def test_a_frozen_file_system_says_whether_the_kernel_could_be_asked():
    run = Run(20)
    run.kernel(20.5, 1, why="/dev/kmsg: Operation not permitted")
    found = []
    for second in (21, 22):
        disks = [{"path": "/nfs/out", "frozen_seconds": 10.0 + second}]
        run.say(second, "sample", 1, disks=disks)
        found += [f for f in run.watch.tick(float(second)) if f.id == "storage-frozen"]
    assert found[0].evidence == (
        "the kernel's log of n1 could not be read (/dev/kmsg: Operation not permitted)",
    )


@pytest.mark.parametrize("name", ["configurator.py", "beside.txt"])
def test_a_file_of_a_relative_path_that_is_not_there_tells_the_folder_of_the_rank(name):
    """Also if the name looks like data, whose cause would ask for another node's disk alone."""
    run = Run()
    said = f"[Errno 2] No such file or directory: '{name}'"
    where = {"type": "FileNotFoundError", "message": said, "frames": [["/srv/train.py", 9, "main"]]}
    for rank in range(3):
        run.tell(101.0, "exception", rank, communication=False, folder="/srv/run/work", **where)
    run.end(102.0)
    verdict = run.watch.verdict(106.0)
    assert verdict.fix.startswith("the rank was in /srv/run/work: ") and "train.workdir" in verdict.fix
    assert "another node" not in verdict.why


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("t.py: error: the following arguments are required: save_every", "Correct the option"),
        (
            "/opt/python: can't open file '/srv/tt.py': [Errno 2] No such file or directory",
            "Correct the script's path: `train.command`",
        ),
    ],
)
def test_what_refused_the_command_line_is_the_headline(said, fix):
    run = Run(steps=0)
    for rank in range(3):
        run.tell(1.0, "end", rank, code=2)
        run.abort(1.2, rank, f"usage: t.py [-h] save_every\n{said}\n", code=2)
    verdict = run.watch.verdict(6.0)
    assert verdict.evidence[0] == f"rank 0 on n0 ended with code 2: {said}" and verdict.fix.startswith(fix)


def test_other_last_words_stand_below_the_headline():
    run = Run(steps=0)
    run.tell(1.0, "end", 1, code=2)
    run.abort(1.2, 1, "loading\nno licence found\n", code=2)
    verdict = run.watch.verdict(6.0)
    assert verdict.evidence[0] == "rank 1 on n1 ended with code 2 and no exception was heard"
    assert "no licence found" in verdict.evidence and "log" in verdict.fix


@pytest.mark.parametrize("causes", [1, "x", {"type": "E"}, [1, None], None])
def test_an_exception_whose_causes_are_no_list_is_refused(causes):
    watch = Watch({})
    data = {"type": "ValueError", "message": "m", "causes": causes, "frames": [["/u/t.py", 3, "f"]]}
    watch.add(Event(1.0, "exception", "a", 0, data))
    watch.add(Event(1.1, "rank-gone", "a", 0, {"code": 1}))
    assert not watch.faulty
    found = watch.verdict(5.0)
    assert found is not None and found.where.rank == 0


@pytest.mark.parametrize(
    "said",
    [
        "double free or corruption (!prev)",
        "free(): invalid pointer",
        "malloc(): unaligned tcache chunk detected",
        "corrupted size vs. prev_size",
        "*** stack smashing detected ***: terminated",
    ],
)
def test_an_abort_of_a_broken_heap_is_a_crash_whatever_the_log_says_of_others(said):
    run = Run()
    run.abort(101, 0, WATCHDOG + said + "\n")
    found = run.watch.verdict(105.0)
    assert (found.cause, found.where.rank, found.confidence) == ("rank-crashed-first", 0, "certain")
