"""An exception that a rank told in parts is judged as the traceback in its log would be, without being printed."""

from __future__ import annotations

import pytest

from allranks.core import Event
from allranks.diagnose import Evidence, Line, Told, conclude
from allranks.monitor import Watch

PLACE = Line("", rank=3, node="b", source="event-3")
BATON = ("/env/lib/torch/utils/file_baton.py", 51, "wait")
FETCH = ("/env/lib/torch/multiprocessing/reductions.py", 521, "rebuild_storage_fd")
REDUCE = ("/env/lib/torch/distributed/distributed_c10d.py", 2806, "all_reduce")
USER = ("/u/train.py", 44, "<module>")

EXCEPTIONS = [
    Told("KeyError", "'labels'", [USER]),
    Told("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", [USER]),
    Told("ModuleNotFoundError", "No module named 'flash_attn'", [USER]),
    Told("FileNotFoundError", "[Errno 2] No such file or directory: '/data/x.json'", [USER]),
    Told("PermissionError", "[Errno 13] Permission denied: '/out'", [USER]),
    Told(
        "DistBackendError",
        "NCCL error in: x.cpp:1\nLast error:\nDuplicate GPU detected : rank 1 and rank 0",
        [REDUCE],
    ),
    Told("RuntimeError", "[gloo/transport/tcp/pair.cc:561] Connection closed by peer", [USER, REDUCE]),
    Told("KeyboardInterrupt", "", [USER, BATON]),
    Told("ConnectionResetError", "[Errno 104] Connection reset by peer", [USER, FETCH]),
    Told("SignalException", "Process 9376 got signal: 1", [USER]),
]


def printed(told: Told) -> list[str]:
    frames = [f'  File "{file}", line {line}, in {name}' for file, line, name in told.frames]
    return ["Traceback (most recent call last):", *frames, *told.text.splitlines()]


def judged(*parts: object) -> tuple:
    seen = Evidence()
    for part in parts:
        if isinstance(part, Told):
            seen.add_exception(part, PLACE)
        else:
            seen.add(PLACE._replace(text=str(part)))
    found = conclude(seen)
    return found.cause, found.confidence, found.where.rank, found.where.node


@pytest.mark.parametrize("told", EXCEPTIONS, ids=lambda told: told.kind)
def test_in_parts_it_says_what_it_says_as_text(told: Told) -> None:
    assert judged(told) == judged(*printed(told))


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (Told("KeyboardInterrupt", "", [USER, BATON]), "op-build-waits"),
        (Told("KeyboardInterrupt", "", [USER, ("/u/file.py", 51, "wait")]), "cancelled-by-user"),
        (Told("ConnectionResetError", "reset", [USER, FETCH]), "dataloader-worker-killed"),
        (
            Told("RuntimeError", "x", [("/x/serialization.py", 1, "_legacy_load")]),
            "checkpoint-corrupt-resume-fail",
        ),
    ],
)
def test_a_frame_is_evidence(told: Told, cause: str) -> None:
    seen = Evidence()
    seen.add_exception(told, PLACE)
    found = conclude(seen)
    assert found.cause == cause
    if cause == "op-build-waits":
        assert found.evidence[0].endswith("/env/lib/torch/utils/file_baton.py:51 in wait")


def test_a_class_of_any_name_and_a_message_that_looks_like_a_log_are_one_exception() -> None:
    assert judged(Told("orange", "[Errno -5] No apple", [USER]))[0] == "rank-crashed-first"
    misleading = "bad batch:\nTraceback (most recent call last):\n[rank1]: KeyError: 'x'"
    assert judged(Told("ValueError", misleading, [USER])) == ("rank-crashed-first", "certain", 3, "b")


def test_the_rank_knows_the_base_classes_better_than_the_text() -> None:
    for known, cause in ((True, "unproven"), (False, "rank-crashed-first"), (None, "rank-crashed-first")):
        assert judged(Told("Gone", "the drawer is red", [USER], known))[0] == cause


def test_the_collective_of_a_frame_is_compared() -> None:
    seen = Evidence()
    seen.add_exception(Told("RuntimeError", "Connection closed by peer", [USER, REDUCE]), PLACE)
    assert seen.operations == {3: "allreduce"}


def test_the_monitor_hands_an_exception_on_in_parts() -> None:
    watch = Watch({"world_size": 2})
    data = {
        "type": "KeyboardInterrupt",
        "message": "",
        "frames": [list(USER), list(BATON)],
        "communication": False,
    }
    for rank in (0, 1):
        watch.add(Event(1.0, "start", "a", rank, {"pid": rank + 9, "start_time": rank}))
    watch.add(Event(2.0, "exception", "a", 1, data))
    watch.add(Event(2.5, "torchrun-ended", "a", None, {"code": 1}))
    found = watch.verdict(9.0)
    assert found is not None and (found.cause, found.where.rank) == ("op-build-waits", 1)
