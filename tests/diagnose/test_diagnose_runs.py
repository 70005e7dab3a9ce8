"""Small logs of whole runs, in the formats of many launchers: the cause, the culprit, the collateral."""

from __future__ import annotations

import itertools
from datetime import datetime

import pytest

from allranks.diagnose import diagnose, parse

PEER = "RuntimeError: [gloo/pair.cc:561] Connection closed by peer [10.0.0.2]:6784"
LATE = "RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 12000ms for recv operation to complete"
NCCL = "torch.distributed.DistBackendError: NCCL error in: NCCL.cpp:1333, remote process exited, NCCL 2.21.5"


def crash(prefix, text):
    return f'{prefix}Traceback (most recent call last):\n{prefix}  File "t.py", line 3, in <module>\n{prefix}{text}\n'


def of(text, source="run.log"):
    return diagnose(parse(text, source))


def table(*rows):
    return "".join(
        f"  rank      : {r} (local_rank: {local})\n  exitcode  : {c} (pid: {p})\n" for r, local, c, p in rows
    )


def watchdog(rank, sequence=81, operation="ALLREDUCE", numel=4, last=None):
    done = sequence - 1 if last is None else last
    work = f"WorkNCCL(SeqNum={sequence}, OpType={operation}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
    return (
        f"[rank{rank}]:[E1206 18:44:12.715 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: {work} ran for 600061 milliseconds before timing out.\n"
        f"[rank{rank}]:[E1206 18:44:12.716 ProcessGroupNCCL.cpp:1664] [PG 1 Rank {rank}] Exception (either an error "
        f"or timeout) detected by watchdog at work: {sequence}, last enqueued NCCL work: {sequence + 2}, last "
        f"completed NCCL work: {done}.\n"
    )


def test_the_crash_is_named_though_its_echo_comes_first():
    text = crash("[rank0]: ", PEER) + crash("[rank3]: ", "KeyError: 'labels'") + crash("[rank1]: ", PEER)
    found = of(text)
    assert (found.cause, found.where.rank, found.confidence) == ("rank-crashed-first", 3, "certain")
    assert {w.rank for w in found.collateral} == {0, 1}
    assert "KeyError" in found.evidence[0]


def test_the_earliest_crash_over_files_is_the_cause():
    """rank-0.log is read first, but rank 1's error was two seconds earlier."""
    late = "2026-11-20 10:00:05 up\n" + crash("", "ValueError: late")
    early = "2026-11-20 10:00:03 up\n" + crash("", "KeyError: 'early'")
    lines = itertools.chain(parse(late, "rank-0.log"), parse(early, "rank-1.log"))
    assert diagnose(lines).where.rank == 1


def stamped(year, glog=False):
    """Rank 1 crashes two seconds before New Year, rank 2 two seconds after it."""
    begin = [datetime(year, 12, 31, 23, 59, 58), datetime(year + 1, 1, 1, 0, 0, 2)]
    form = "W%m%d %H:%M:%S.000000 7 torch/x.py:1] " if glog else "[%Y-%m-%d %H:%M:%S] "
    return [
        at.strftime(form) + "up\n" + crash("", f"{error}: 'x'")
        for error, at in zip(("KeyError", "ValueError"), begin, strict=True)
    ]


@pytest.mark.parametrize("glog", [False, True])
@pytest.mark.parametrize("year", [2024, 2025])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_earliest_crash_is_the_cause_at_new_year_too(year, glog, order):
    logs = dict(zip((1, 2), stamped(year, glog), strict=True))
    found = diagnose(itertools.chain(*(parse(logs[rank], f"rank-{rank}.log") for rank in order)))
    assert found.where.rank == 1


def test_same_error_on_all_ranks_names_no_rank():
    text = "".join(crash(f"[rank{r}]: ", "ValueError: bad configuration") for r in range(4))
    found = of(text)
    assert found.cause == "rank-crashed-first" and found.where.rank is None and "4 of 4" in found.why
    assert found.collateral == ()


def test_one_node_alone_is_named_as_a_node():
    text = "node1: [rank0] process group ready\nnode1: [rank1] process group ready\n"
    text += "".join(
        crash(f"node2: [rank{r}]: ", "ModuleNotFoundError: No module named 'flash_attn'") for r in (2, 3)
    )
    text += crash("node1: [rank0]: ", PEER) + crash("node1: [rank1]: ", PEER)
    found = of(text)
    assert (found.cause, found.where.node, found.where.rank) == ("missing-python-module", "node2", None)
    assert {w.rank for w in found.collateral} == {0, 1}


def test_srun_labels_that_are_ranks():
    text = crash("3: ", "IndexError: index out of range in self") + crash("0: ", PEER)
    assert of(text).where.rank == 3


def test_srun_labels_that_are_nodes():
    text = "1: [rank9] step 1 loss 2\n" + crash("1: [rank9]: ", "IndexError: index out of range in self")
    found = of(text + crash("0: [rank0]: ", PEER))
    assert (found.where.rank, found.where.node) == (9, "1")


def test_log_folder_of_torchrun_knows_local_ranks():
    lines = itertools.chain(
        parse(crash("", PEER), "logs/attempt_0/0/stderr.log"),
        parse(crash("", "KeyError: 'x'"), "logs/attempt_0/2/stderr.log"),
    )
    found = diagnose(lines)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_survived_error_is_not_the_cause():
    """A restart: the first attempt's crash was followed by long training."""
    text = crash("[rank2]: ", "KeyError: 'x'") + "".join(f"[rank0] step {n} loss 2.0\n" for n in range(50))
    assert of(text).cause == "benign-noise"
    assert (
        of(
            text + crash("[rank1]: ", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
        ).cause
        == "cuda-oom"
    )


def test_a_warning_is_lighter_than_a_crash():
    text = "WARNING: No module named 'apex'\n" + crash("[rank1]: ", "ZeroDivisionError: division by zero")
    assert of(text).cause == "rank-crashed-first"


def test_sigterm_victims_are_not_blamed():
    text = "[rank1] step 1 loss 3\n" + table((0, 0, -15, 11), (1, 1, -9, 12), (2, 2, -15, 13))
    found = of(text)
    assert (found.cause, found.where.rank) == ("rank-sigkilled", 1)
    assert {w.rank for w in found.collateral} == {0, 2}


def test_rank_that_our_launcher_forced_is_a_victim():
    forced = (
        "W1120 api.py:900] Unable to shutdown process 13 via Signals.SIGTERM, "
        "forcefully exiting via Signals.SIGKILL\n"
    )
    text = crash("[rank0]: ", "KeyError: 'x'") + forced + table((0, 0, 1, 11), (2, 2, -9, 13))
    assert of(text).where.rank == 0


def test_silent_rank_among_time_outs():
    text = "".join(f"[rank{r}] ready world_size=4\n" for r in range(4)) + "[rank2] evaluating\n"
    text += "".join(crash(f"[rank{r}]: ", LATE) for r in (0, 1, 3))
    found = of(text)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 2)
    assert any("evaluating" in line for line in found.evidence)


def test_watchdog_of_the_rank_that_completed_least():
    text = "".join(watchdog(r, 96120) for r in (0, 1, 2)) + watchdog(7, 64088)
    found = of(text)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 7)


def test_watchdogs_in_different_collectives_are_a_mismatch():
    text = "".join(watchdog(r) for r in (0, 1, 2)) + watchdog(3, operation="BROADCAST")
    found = of(text)
    assert (found.cause, found.where.rank) == ("collective-mismatch", 3)
    assert {w.rank for w in found.collateral} == {0, 1, 2}


def test_watchdogs_that_agree_name_nobody():
    found = of("".join(watchdog(r) for r in range(4)))
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", None)


def test_old_watchdog_lines_glued_to_a_bar():
    bar = "Epoch 0:   6%|██   | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6]"
    text = (
        bar + "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=96120, "
    )
    text += "OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 25624887 milliseconds before timing out.\n"
    text += (
        "[E ProcessGroupNCCL.cpp:458] [Rank 7] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=64088, "
    )
    text += "OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 25625251 milliseconds before timing out.\n"
    assert of(text).where.rank == 7


def test_monitored_barrier_names_the_missing():
    text = crash("[rank0]: ", "RuntimeError: [Rank 0]: Ranks 2 failed to pass monitoredBarrier in 30000 ms")
    found = of(text)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 2)


def test_a_rank_that_names_the_missing_in_the_barrier_is_not_missing() -> None:
    text = crash(
        "[rank1]: ",
        "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received errors while waiting for send/recv "
        "from rank 0. Please check rank 0 logs for faulty rank.",
    )
    text += crash("[rank0]: ", "RuntimeError: [Rank 0]: Ranks 2 failed to pass monitoredBarrier in 10000 ms")
    assert of(text).where.rank == 2


def test_ranks_that_wait_for_the_data_are_not_to_blame() -> None:
    text = "Running tokenizer on dataset: 40%\n" + crash(
        "[rank1]: ", "RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation"
    )
    table = "  rank      : {} (local_rank: {})\n  exitcode  : {} (pid: {})\n"
    both = table.format(0, 0, -15, 11) + table.format(1, 1, 1, 12)
    assert (of(text + both).cause, of(text + both).where.rank) == ("dataset-preprocessing-timeout", 0)
    assert of(text).where.rank is None


def test_a_rank_in_round_brackets_without_a_colon() -> None:
    text = "".join(f"(rank {n}) batch 4 loss 0.4\n" for n in range(3)) + "(rank 2) end of data\n"
    closed = "RuntimeError: [gloo/pair.cc:553] Connection closed by peer [127.0.0.1]:18618."
    text += crash("[rank0]: ", closed) + crash("[rank1]: ", closed)
    text += "  rank      : 1 (local_rank: 1)\n  exitcode  : -15 (pid: 12)\n"
    text += "  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 11)\n"
    assert (of(text).cause, of(text).where.rank) == ("rank-exited-early", 2)


def test_ranks_in_a_logger_s_own_format() -> None:
    text = "".join(f"2026-11-30 11:19:14,886 INFO rank={n} | batch 0/25 lr 0.5\n" for n in range(3))
    assert {line.rank for line in parse(text)} == {0, 1, 2}
    assert next(iter(parse("lost the connection to rank 3: it is closed"))).rank is None


def test_peer_that_nccl_names():
    text = (
        "node-2:31:90 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection "
        "closed by remote peer node-1.lab.org<45074>\n"
    )
    found = of("node-1:30:80 [0] NCCL INFO Init COMPLETE\n" + text + crash("[rank1]: ", NCCL))
    assert (found.cause, found.where.node) == ("nccl-remote-process-exited", "node-1")


def test_mpi_output():
    text = (
        "[1,2]<stdout>:smc-03:29880:30398 [0] init.cc:497 NCCL WARN Duplicate "
        "GPU detected : rank 2 and rank 0 both on "
    )
    text += "CUDA device 1000\n[1,2]<stdout>:smc-03:29880:30398 [0] NCCL INFO init.cc:867 -> 5\n"
    assert of(text).cause == "duplicate-gpu"


def test_oom_beside_its_echo_in_another_file():
    echo = "".join(crash(f"[rank{r}]: ", NCCL) for r in range(7))
    oom = crash(
        "[rank11]: ",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; 79 GiB)",
    )
    found = diagnose(itertools.chain(parse(echo, "node-1.log"), parse(oom, "node-2.log")))
    assert (found.cause, found.where.rank, found.where.node) == ("cuda-oom", 11, "node-2")
    assert len(found.collateral) == 7
    assert (found.where.file, found.where.line) == ("node-2.log", 3)


def test_early_exit_with_code_zero():
    text = "".join(f"[rank{r}] ready world_size=4\n" for r in range(4))
    text += "".join(crash(f"[rank{r}]: ", PEER) for r in (0, 1, 3))
    text += table((0, 0, 1, 11), (1, 1, -15, 12), (3, 3, -15, 14))
    found = of(text)
    assert (found.cause, found.where.rank) == ("rank-exited-early", 2)


def test_nothing_to_read_is_unproven():
    assert of("").cause == "unproven"
    assert of("hello\n").confidence == "unproven"


def test_evidence_is_safe_and_bounded():
    text = (
        crash("[rank1]: ", "ValueError: \x1b]0;own\x07\x1b[2J<script>" + "x" * 100_000)
        + crash("[rank0]: ", PEER) * 500
    )
    found = of(text)
    assert found.cause == "rank-crashed-first"
    assert (
        all(len(line) <= 400 and line.isprintable() for line in found.evidence) and len(found.evidence) <= 8
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_order_of_files_does_not_matter(order):
    files = [
        (crash("", PEER), "rank-0.log"),
        (crash("", "PermissionError: [Errno 13] Permission denied: 'o'"), "rank-3.log"),
    ]
    lines = itertools.chain(*(parse(*files[n]) for n in order))
    assert diagnose(lines).where.rank == 3


def test_nothing_wrong_names_nobody():
    found = of("node1: [rank0] step 1 loss 3.0\n")
    assert found.cause == "benign-noise" and found.where.rank is None and found.where.node is None


def test_the_absent_node_is_named():
    late = "DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined."
    text = "node-2: [W1 socket.cpp] [c10d] starting\n" + crash("node-1: ", "torch.distributed." + late)
    found = of(text)
    assert (found.cause, found.where.node) == ("rendezvous-timeout", "node-2")


def test_the_unreachable_head_is_named():
    error = "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of "
    found = of(crash("node-2: ", error + "(node-1, 29500). (errno: 113 - No route to host)."))
    assert (found.cause, found.where.node) == ("master-unreachable-firewall", "node-1")


@pytest.mark.parametrize(
    "name", ["out/checkpoint-30/adapter_config.json", "/srv/out/checkpoint-30/adapter_config.json"]
)
def test_a_save_whose_folder_is_gone_is_no_missing_model_and_no_missing_data(name):
    """It is told as what it is: an exception of the script, with the file in its words."""
    first = crash("[rank0]: ", f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'")
    lines = itertools.chain(parse(first, "node-1.log"), parse(crash("[rank1]: ", PEER), "node-2.log"))
    found = diagnose(lines)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 0)
    assert "checkpoint-30" in found.evidence[0]
