"""The verdict over small runs, told as events."""

from __future__ import annotations

import pytest

from allranks.core import Event
from allranks.monitor import Watch

PEER = "[gloo/transport/tcp/pair.cc:561] Connection closed by peer [10.0.0.2]:6784"


def follow(events, expect=None):
    watch = Watch({"world_size": 4, "steps": 100, **(expect or {})})
    for event in events:
        watch.add(event)
    return watch


def node_of(rank):
    return "ab"[rank // 2]


def started(world_size=4):
    return [
        Event(
            0.0,
            "start",
            node_of(r),
            r,
            {"pid": 10 + r, "start_time": r, "boot_id": node_of(r), "world_size": world_size},
        )
        for r in range(world_size)
    ] + [
        Event(1.0 + r / 10, "beat", node_of(r), r, {"phase": "training", "step": 10, "total_steps": 100})
        for r in range(world_size)
    ]


def beat(at, rank, phase):
    return Event(at, "beat", node_of(rank), rank, {"phase": phase, "step": 10, "total_steps": 100})


def raised(at, rank, kind="RuntimeError", message=PEER, communication=True, line=5):
    data = {
        "type": kind,
        "message": message,
        "frames": [["t.py", line, "main"]],
        "communication": communication,
    }
    return Event(at, "exception", node_of(rank), rank, data)


def gone(at, rank, code=None):
    return Event(at, "rank-gone", node_of(rank), rank, {"pid": 10 + rank, "code": code})


def table(at, node, *rows):
    failures = [{"rank": rank, "code": code} for rank, code in rows]
    return Event(at, "torchrun-ended", node, None, {"code": 1, "failures": failures})


def test_nothing_wrong_is_no_verdict():
    ends = [Event(9.0, "beat", node_of(r), r, {"phase": "done", "step": 100}) for r in range(4)]
    ends += [Event(10.0, "end", node_of(r), r, {"code": 0}) for r in range(4)]
    ends += [Event(11.0, "torchrun-ended", n, None, {"code": 0, "failures": []}) for n in "ab"]
    assert follow([*started(), *ends]).verdict(12.0) is None


def test_killed_rank_is_named_though_every_torchrun_names_its_own():
    verdict = follow([
        *started(), gone(20.0, 2), raised(20.4, 0), raised(20.3, 3), raised(20.5, 1),
        table(21.0, "a", (0, 1), (1, -15)), table(21.5, "b", (2, -9), (3, 1)),
    ]).verdict(25.0)  # fmt: skip
    assert (verdict.cause, verdict.where.rank, verdict.where.node) == ("rank-sigkilled", 2, "b")
    assert {w.rank for w in verdict.collateral} == {0, 1, 3}
    assert verdict.first_seen == 20.0


def test_exception_beats_earlier_communication_errors():
    events = [*started(), raised(20.0, 0), raised(20.1, 3, "KeyError", "'labels'", False), gone(20.2, 3, 1)]
    verdict = follow(events).verdict(25.0)
    assert (verdict.cause, verdict.where.rank, verdict.where.file) == ("rank-crashed-first", 3, "t.py")
    assert verdict.confidence == "certain"


def test_two_exceptions_on_two_nodes_within_the_clocks_error_are_doubted():
    events = [
        *started(),
        raised(20.0, 1, "ValueError", "a", False),
        raised(20.05, 3, "KeyError", "'labels'", False, line=9),
    ]
    verdict = follow(events).verdict(25.0)
    assert (verdict.where.rank, verdict.confidence) == (1, "likely")
    assert any("rank 3 on b raised another within 0.5 s" in line for line in verdict.evidence)
    alone = follow([*started(), raised(20.0, 1, "ValueError", "a", False)]).verdict(25.0)
    assert alone.confidence == "certain"


def test_same_exception_everywhere_is_the_configuration():
    events = [*started(), *(raised(20.0 + r / 10, r, "ValueError", f"no {r}", False) for r in range(4))]
    verdict = follow(events).verdict(25.0)
    assert "all 4 ranks" in verdict.why and verdict.collateral == ()


def test_early_exit_with_zero_is_the_culprit():
    events = [*started(), Event(20.0, "end", "b", 2, {"code": 0}), *(raised(20.1 + r, r) for r in (0, 1, 3))]
    verdict = follow(events).verdict(30.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 2)


def done(at, rank, step=10):
    """A script's end with 0, as a rank tells it: every one says that it is done."""
    said = Event(at, "beat", node_of(rank), rank, {"phase": "done", "step": step})
    return [said, Event(at, "end", node_of(rank), rank, {"code": 0}), gone(at + 0.1, rank, 0)]


def test_a_rank_that_says_it_is_done_left_early_where_the_others_lose_it_afterwards():
    events = [*started(), *done(20.0, 2), *(raised(20.1 + r, r) for r in (0, 1, 3))]
    verdict = follow(events).verdict(30.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 2)
    assert {where.rank for where in verdict.collateral} == {0, 1, 3}


def test_ranks_that_are_done_are_not_blamed_for_one_that_fails_alone_afterwards():
    events = [*started(), *(event for r in (1, 2, 3) for event in done(20.0, r)), gone(24.0, 0, 1)]
    assert follow(events).verdict(30.0).where.rank == 0
    killed = [*events[:-1], gone(24.0, 0, -9)]
    assert (follow(killed).verdict(30.0).cause, follow(killed).verdict(30.0).where.rank) == (
        "rank-sigkilled",
        0,
    )


def test_a_rank_at_its_last_step_has_not_left_early():
    events = [*started(), *done(20.0, 2, step=100), raised(21.0, 0), gone(21.5, 0, 1)]
    assert follow(events).verdict(30.0).cause != "rank-exited-early"


def test_those_that_are_done_are_not_blamed_by_the_last_one_that_works_on_alone():
    events = [*started(), *(event for r in (1, 2, 3) for event in done(20.0, r)), raised(21.0, 0)]
    assert follow([*events, gone(21.5, 0, 1)]).verdict(30.0).cause != "rank-exited-early"
    on = [Event(880.0, "beat", node_of(r), r, {"phase": "training", "step": 90}) for r in (0, 1, 2)]
    events = [*started(), *done(20.0, 3), *on, raised(900.0, 0), raised(900.0, 1), gone(901.0, 0, 1)]
    assert follow(events).verdict(905.0).cause != "rank-exited-early", "it was not its end, 15 minutes before"


def test_a_rank_that_is_done_left_early_where_the_others_stand_still_for_it():
    asked = Event(60.0, "evidence", "a", None, {"why": "no-progress"})
    ended = [Event(90.0, "torchrun-ended", n, None, {"code": 1, "failures": []}) for n in "ab"]
    stopped = [Event(80.0, "stopping", n, None, {"why": "no-progress"}) for n in "ab"]
    stopped += [gone(81.0, r, -15) for r in (0, 1, 3)]
    verdict = follow([*started(), *done(20.0, 2), asked, *stopped, *ended]).verdict(95.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 2)


def test_a_rank_whose_code_nobody_saw_left_early_where_torchrun_has_no_failure():
    alone = Event(22.0, "torchrun-ended", "b", None, {"code": 0, "failures": []})
    events = [*started(), gone(20.0, 2), *(raised(20.5 + r / 10, r) for r in (0, 1, 3)), alone]
    verdict = follow(events).verdict(30.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 2)
    events[-1] = table(26.0, "b", (3, 1))
    verdict = follow([*events[:-1], gone(22.0, 3), events[-1]]).verdict(30.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-exited-early", 2)


def test_so_does_one_whose_torchrun_waited_for_the_others_until_we_stopped_it():
    ended = Event(27.0, "torchrun-ended", "b", None, {"code": 1, "failures": []})
    events = [*started(), gone(20.0, 2), *(raised(20.5 + r / 10, r) for r in (0, 1, 3))]
    events += [Event(23.5, "stopping", "b", None, {"why": "the run failed"}), ended]
    assert follow(events).verdict(30.0).cause == "rank-exited-early"


def test_a_rank_that_torchrun_ended_after_another_failed_has_no_code():
    events = [*started(), gone(20.0, 3), gone(20.4, 2), table(21.0, "b", (3, 1))]
    watch = follow(events)
    assert watch.run.ranks[2].code is None and watch.run.ranks[3].code == 1


def test_only_timeouts_names_the_silent_rank():
    events = [*started(), Event(2.0, "beat", "b", 2, {"phase": "evaluating", "step": 10})]
    events += [raised(20.0 + r, r, message="Timed out waiting 12000ms for recv") for r in (0, 1, 3)]
    events += [table(30.0, "b", (3, 1), (2, -15))]
    verdict = follow(events).verdict(31.0)
    assert (verdict.cause, verdict.where.rank) == ("collective-timeout-straggler", 2)


@pytest.mark.parametrize(("blames", "node"), [((0,), None), ((0, 1), "b")])
def test_of_several_silent_ranks_that_stand_alike_none_is_named(blames, node):
    """Before, the first of them was."""
    events = [*started()[:4], *(beat(1.0, r, "training") for r in range(4))]
    events += [raised(20.0 + r, r, message="Timed out waiting 12000ms for recv") for r in blames]
    verdict = follow([*events, table(30.0, "a", (0, 1))]).verdict(31.0)
    assert (verdict.cause, verdict.confidence) == ("collective-timeout-straggler", "unproven")
    assert (verdict.where.node, verdict.where.rank) == (node, None)
    assert "none of them is behind the others (step 10)" in verdict.evidence[0]


@pytest.mark.parametrize(("why", "cause"), [("silent", "node-failure"), ("closed", "supervisor-lost")])
def test_lost_node(why, cause):
    events = [*started(), raised(20.0, 0), raised(20.1, 1), Event(22.0, "lost", "b", None, {"why": why})]
    verdict = follow([Event(0.0, "joined", "b"), *events]).verdict(60.0)
    assert (verdict.cause, verdict.where.node) == (cause, "b")
    assert {w.rank for w in verdict.collateral} == {0, 1}


def test_loss_of_a_node_after_we_stop_is_no_cause():
    events = [*started(), raised(20.0, 3, "KeyError", "x", False), Event(21.0, "stopping", "b", None, {})]
    verdict = follow([*events, Event(22.0, "lost", "b", None, {})]).verdict(30.0)
    assert verdict.where.rank == 3


def test_segfault_is_told_from_a_kill():
    verdict = follow([*started(), gone(20.0, 1, -11), raised(20.1, 0)]).verdict(30.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-crashed-first", 1) and "SIGSEGV" in verdict.evidence[
        0
    ]


def test_clock_of_a_node_is_corrected():
    """Node b's clock is 90 s ahead: its ranks' deaths look later than they were."""
    watch = Watch({"world_size": 4})
    for event in started():
        shift = 90.0 if event.node == "b" else 0.0
        watch.add(
            Event(event.at + shift, event.kind, event.node, event.rank, event.data), received=event.at + 0.1
        )
    watch.add(Event(110.0, "exception", "b", 2, {"type": "KeyError", "message": "x"}), received=20.3)
    watch.add(Event(20.2, "exception", "a", 0, {"type": "ValueError", "message": "y"}), received=20.4)
    verdict = watch.verdict(30.0)
    assert verdict.where.rank == 2 and verdict.first_seen == pytest.approx(20.1, abs=0.2)


def test_escape_codes_do_not_reach_the_evidence():
    events = [*started(), raised(20.0, 1, "ValueError", "\x1b[31mred\x1b[0m\x07\nsecond", False)]
    assert all("\x1b" not in line and "\x07" not in line for line in follow(events).verdict(30.0).evidence)


# ---- the cause, from texts ----


def test_text_of_the_exception_names_the_cause():
    events = [*started(), raised(20.0, 1, "OSError", "[Errno 28] No space left on device: 'out/a.pt'", False)]
    verdict = follow([*events, raised(20.5, 0)]).verdict(25.0)
    assert (verdict.cause, verdict.where.rank, verdict.where.node) == ("disk-full-checkpoint", 1, "a")
    assert verdict.first_seen == 20.0 and [w.rank for w in verdict.collateral] == [0]


def test_log_of_the_killed_ranks_node_proves_the_want_of_memory():
    watch = follow([*started(), gone(20.0, 2, -9), raised(20.4, 0)])
    assert watch.verdict(25.0).cause == "rank-sigkilled"
    watch.add_log("b", "supervisor.log", "Memory cgroup out of memory: Killed process 12 (python)\n")
    verdict = watch.verdict(25.0)
    assert (verdict.cause, verdict.where.rank) == ("cpu-oom-killed", 2)


def test_what_others_say_after_a_crash_does_not_count():
    watch = follow([*started(), raised(20.0, 1, "KeyError", "'labels'", False)])
    watch.add_log(
        "b",
        "rank-3.log",
        "Traceback (most recent call last):\nPermissionError: [Errno 13] Permission denied: 'x'\n",
    )
    verdict = watch.verdict(25.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-crashed-first", 1)


def test_rank_that_ended_with_one_is_read_in_its_log():
    watch = follow([*started(), gone(20.0, 1, 1), gone(20.1, 3, 1)])
    text = "Traceback (most recent call last):\nRuntimeError: {}\n"
    watch.add_log("a", "rank-1.log", text.format(PEER))
    watch.add_log("b", "rank-3.log", text.format("shapes do not fit"))
    verdict = watch.verdict(25.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-crashed-first", 3)


def test_only_torchrun_ended_and_its_log_says_why():
    watch = Watch({"world_size": 4})
    watch.add(Event(5.0, "torchrun-ended", "b", None, {"code": 1, "failures": []}))
    assert watch.verdict(9.0).cause == "unproven"
    watch.add_log(
        "b",
        "torchrun.log",
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'torch'\n",
    )
    verdict = watch.verdict(9.0)
    assert (verdict.cause, verdict.where.node) == ("missing-python-module", "b")


def test_a_torchrun_that_fails_for_no_known_reason_is_quoted():
    watch = Watch({"world_size": 4})
    watch.add(Event(5.0, "torchrun-ended", "b", None, {"code": 1, "failures": []}))
    watch.add(Event(5.1, "torchrun-ended", "a", None, {"code": 1, "failures": []}))
    watch.add_log("a", "torchrun.log", "peers are gone\n")
    watch.add_log("b", "supervisor.log", "all is well\n")
    watch.add_log("b", "torchrun.log", "starting\n\x1b[31mno room for torchrun\n")
    verdict = watch.verdict(9.0)
    assert (verdict.cause, verdict.where.node, verdict.evidence[-1]) == (
        "unproven",
        "b",
        "no room for torchrun",
    )
    assert not any("peers" in line or "all is well" in line for line in verdict.evidence)


def test_tokenizing_rank_is_told_from_a_straggler():
    events = [*started(), Event(2.0, "beat", "a", 0, {"phase": "preparing", "step": 10})]
    events += [raised(20.0 + r, r, message="Timed out waiting 12000ms for recv") for r in (1, 2, 3)]
    watch = follow(events)
    watch.add_log("a", "rank-0.log", "Running tokenizer on dataset: 52%\n")
    verdict = watch.verdict(31.0)
    assert (verdict.cause, verdict.where.rank) == ("dataset-preprocessing-timeout", 0)


def test_kill_before_an_exception_is_the_cause():
    events = [*started(), gone(20.0, 2, -9), raised(24.0, 0, "ValueError", "read of closed file", False)]
    assert follow(events).verdict(30.0).where.rank == 2


def test_rank_that_left_after_the_trouble_is_not_blamed():
    events = [*started(), raised(20.0, 0), gone(21.0, 0, 1), Event(25.0, "end", "b", 2, {"code": 0})]
    assert follow(events).verdict(30.0).cause != "rank-exited-early"


def test_a_finding_that_stopped_the_run_is_its_verdict():
    watch = follow(started(), {"trainable_parameters": 97_006_592})
    watch.add(Event(3.0, "settings", "a", 0, {"trainable_parameters": 22_986_752}))
    verdict = watch.verdict(9.0)
    assert (verdict.cause, verdict.where.rank) == ("trainable-differs", 0)


def test_a_restart_begins_anew():
    """The first attempt's deaths are neither a reason to be quiet nor a verdict of the second."""
    watch = follow([*started(), gone(20.0, 2, -9), table(21.0, "a", (0, -15)), table(21.0, "b", (2, -9))])
    for node in "ab":
        watch.add(Event(30.0, "torchrun", node, None, {}))
    for event in started():
        watch.add(Event(event.at + 31.0, event.kind, event.node, event.rank, event.data))
    assert watch.verdict(40.0) is None and not watch.run.quiet
    watch.add(raised(50.0, 1, "KeyError", "'labels'", False))
    assert watch.verdict(60.0).where.rank == 1


@pytest.mark.parametrize(
    ("line", "at", "cause", "confidence"),
    [
        ("Memory cgroup out of memory: Killed process 12 (python)", 20.2, "cpu-oom-killed", "certain"),
        ("Out of memory: Killed process 71822 (python)", 20.2, "cpu-oom-killed", "likely"),
        ("Out of memory: Killed process 12 (python)", 11.0, "rank-sigkilled", "likely"),
        ("NVRM: Xid (PCI:0000:3b:00): 79", 20.2, "xid-gpu-fault", "likely"),
    ],
)
def test_the_kernels_word_after_a_sigkill_says_why(line, at, cause, confidence):
    kernel = Event(at, "kernel", "b", None, {"lines": [line]})
    events = [*started(), *sorted([gone(20.0, 2, -9), kernel], key=lambda e: e.at), raised(20.5, 0)]
    verdict = follow(events).verdict(30.0)
    assert (verdict.cause, verdict.where.rank, verdict.confidence) == (cause, 2, confidence)


def test_a_library_where_it_came_to_light_is_not_the_place():
    """A data loader's worker was killed: Python's own connection says so, below torch's data loader."""
    frames = [
        ["/work/train.py", 131, "train"],
        ["/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 1251, "_try_get_data"],
        ["/env/lib/python3.11/site-packages/torch/multiprocessing/reductions.py", 541, "rebuild_storage_fd"],
        ["/usr/lib/python3.11/multiprocessing/reduction.py", 189, "recv_handle"],
        ["/usr/lib/python3.11/multiprocessing/connection.py", 395, "_recv"],
    ]
    first = raised(10.0, 2, "ConnectionResetError", "[Errno 104] Connection reset by peer", False)
    first.data["frames"] = frames
    found = follow([*started(), first, raised(10.4, 0), raised(10.5, 1), raised(10.6, 3)]).verdict(25.0)
    assert found.cause == "dataloader-worker-killed"
    assert (found.where.node, found.where.rank) == ("b", 2)
    assert (found.where.file, found.where.line) == ("/work/train.py", 131)
    assert any("/work/train.py:131 in train" in line for line in found.evidence)


SIZES = "  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 1037040 vs 12. "


def told_sizes(at, rank, *sizes, line=5):
    """The last words of a rank whose peer was aborted."""
    lost = raised(
        at, rank, message="[gloo/transport/tcp/pair.cc:537] Read error: Connection reset by peer", line=line
    )
    flight = {"operation": "gloo:all_reduce", "sequence": 9, "group": "0", "sizes": [list(sizes)]}
    return [lost] + ([Event(at + 0.01, "flight", node_of(rank), rank, flight)] if sizes else [])


@pytest.mark.parametrize(
    ("ranks", "told", "odd"),
    [
        (3, {1: (7_000_000,), 2: (1, 16)}, 1),
        (3, {1: (1, 16), 2: (1, 16)}, 0),
        (4, {1: (1, 16), 2: (7_000_000,), 3: (1, 16)}, 2),
        (4, {1: (1, 16), 2: (7_000_000,), 3: (2, 8)}, None),
        (3, {1: (), 2: ()}, None),  # their recorders are off: two places and no sizes
        (2, {1: (7_000_000,)}, None),
    ],
)
def test_whom_gloo_aborted_for_another_size_is_not_blamed_for_it(ranks, told, odd) -> None:
    events = [*started(ranks), gone(5.0, 0, code=-6)]
    for rank, sizes in told.items():
        events += told_sizes(5.1 + rank / 100, rank, *sizes, line=10 + rank)
    watch = follow([*events, table(5.5, "a", (0, -6))], {"world_size": ranks})
    watch.add_log("a", "rank-0.log", f"terminate called after throwing\n{SIZES}\n")
    verdict = watch.verdict(25.0)
    assert verdict is not None
    assert (verdict.cause, verdict.where.rank) == ("collective-mismatch", odd)
    assert "received 1037040 bytes where its own tensor takes 12" in verdict.evidence[0]
    if odd:
        assert (verdict.where.file, verdict.where.line) == ("t.py", 10 + odd)


@pytest.mark.parametrize(
    ("free", "cause"), [(8 << 30, "rank-crashed-first"), (0, "shm-too-small"), (None, "shm-too-small")]
)
def test_a_bus_error_beside_room_in_the_shared_memory_is_a_mapped_file(free, cause):
    events = [*started(), gone(5.0, 2, code=-7), raised(5.2, 0), table(5.5, "b", (2, -7))]
    if free is not None:
        disk = {"path": "/dev/shm", "total_bytes": 16 << 30, "free_bytes": free}
        events.insert(-3, Event(4.0, "sample", "b", None, {"disks": [disk]}))
    watch = follow(events)
    watch.add_log(
        "b",
        "torchrun.log",
        "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -7) local_rank: 0 (pid: 12) of binary: p\n",
    )
    verdict = watch.verdict(25.0)
    assert (verdict.cause, verdict.where.rank) == (cause, 2)
    assert free != 8 << 30 or "a mapped file was cut" in verdict.why


def lease_lost(at, node):
    return Event(at, "lease-lost", node, None, {"why": "no word of the keeper for 30 s"})


@pytest.mark.parametrize("heard", [1, -1], ids=["in order", "the error is heard first"])
def test_a_lease_that_ends_first_explains_the_error_of_a_rank_that_lost_its_peers(heard):
    """The error may be the script's own, and say nothing of communication."""
    error = raised(20.6, 0, "ConnectionError", "a rank has left", False)
    found = follow([*started(), *[lease_lost(20.0, "b"), error][::heard]], {"head": "a"}).verdict(25.0)
    assert (found.cause, found.where.node, found.where.rank) == ("lease-lost", "b", None)


def test_an_error_that_came_first_explains_the_end_of_a_lease():
    error = raised(15.0, 3, "ValueError", "bad sample", False)
    found = follow([*started(), error, lease_lost(20.0, "b")], {"head": "a"}).verdict(25.0)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 3)


@pytest.mark.parametrize("heard", [1, -1], ids=["in order", "the error is heard first"])
def test_several_leases_that_end_point_at_the_head(heard):
    told = [lease_lost(20.0, "b"), lease_lost(20.3, "c"), raised(20.6, 0)]
    found = follow([*started(), *told[::heard]], {"head": "a"}).verdict(25.0)
    assert (found.cause, found.where.node) == ("lease-lost", "a")
    assert "b, c" in found.evidence[0] and "load and memory" in found.fix
