"""Events and lines become signals, and one ranking judges them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from allranks.core import Diagnosis, Where
from allranks.core.causes import UNPROVEN
from allranks.diagnose import Evidence, Line, Signal, Texts, conclude, diagnose, parse, ranked, weighed
from allranks.diagnose.symptom import ENDED, LEFT, LOST, STRONG


def signal(weight: int, cause: str, rank: int | None = None, node: str | None = None) -> Signal:
    return Signal(
        weight, Diagnosis(cause, "likely", Where(node=node, rank=rank), 7.0, (f"{cause} was seen",))
    )


def texts(of_run: Signal | None = None, *of_place: Signal) -> Texts:
    """Texts that fail if the ranking reads what it need not read."""

    def whole() -> Signal:
        assert of_run is not None, "all texts were read without a need"
        return of_run

    def near(who: Signal) -> Iterator[Signal]:
        assert who.diagnosis.where.rank is not None
        yield from of_place

    return Texts(whole, near)


def test_lines_alone_are_judged_by_the_same_ranking() -> None:
    seen = Evidence()
    seen.add(Line("OSError: [Errno 28] No space left on device", rank=1, source="rank-1.log"))
    assert ranked((), Texts(lambda: weighed(seen))).diagnosis == conclude(seen)
    assert conclude(seen).cause == "disk-full-checkpoint"


def test_the_texts_of_the_place_give_the_reason_and_the_events_the_place() -> None:
    who, why = signal(LOST, "rank-crashed-first", 3, "b"), signal(STRONG, "cuda-oom", 9, "z")
    found = ranked([who, signal(LEFT, "rank-exited-early", 1)], texts(None, why)).diagnosis
    assert (found.cause, found.where, found.first_seen) == ("cuda-oom", Where(node="b", rank=3), 7.0)
    assert found.evidence == ("rank-crashed-first was seen", "cuda-oom was seen")


def test_the_nearest_text_with_a_reason_counts() -> None:
    who = signal(LOST, "torchelastic-signal", 3)
    near = [signal(STRONG, "rank-crashed-first"), signal(STRONG, "cuda-oom"), signal(STRONG, "gpu-busy")]
    assert ranked([who], texts(None, *near)).diagnosis.cause == "cuda-oom"


def test_what_events_prove_needs_no_other_text() -> None:
    assert ranked([signal(LOST, "node-lost", 3)], texts()).diagnosis.cause == "node-lost"


@pytest.mark.parametrize(
    "text, cause, rank",
    [
        (signal(LEFT + 1, "cuda-oom", 5), "cuda-oom", 5),
        (signal(LEFT + 1, "cuda-oom"), "cuda-oom", 3),
        (signal(LEFT, "cuda-oom", 5), "rank-exited-early", 3),
        (signal(LEFT + 1, "rank-crashed-first", 5), "rank-crashed-first", 5),
        (signal(LEFT + 1, "collective-timeout-straggler", 5), "collective-timeout-straggler", 5),
        (signal(LEFT + 1, "rank-crashed-first"), "rank-exited-early", 3),
        (signal(LEFT + 1, "torchelastic-signal", 5), "rank-exited-early", 3),
        (signal(LEFT + 1, "xid-gpu-fault", node="b"), "xid-gpu-fault", None),
        (signal(LEFT + 1, "cuda-oom", node="b"), "cuda-oom", 3),
    ],
)
def test_a_heavier_text_counts_if_it_says_why_or_who_began(
    text: Signal, cause: str, rank: int | None
) -> None:
    found = ranked([signal(LEFT, "rank-exited-early", 3)], texts(text)).diagnosis
    assert (found.cause, found.where.rank) == (cause, rank)


def test_an_event_without_a_cause_takes_the_texts_place() -> None:
    found = ranked(
        [Signal(0, Diagnosis(UNPROVEN, UNPROVEN, Where(rank=1)))], texts(signal(ENDED, "cuda-oom", node="b"))
    )
    assert found.diagnosis.where == Where(node="b")


TRACEBACK = 'Traceback (most recent call last):\n  File "/u/train.py", line 3, in f\n'
FULL = "OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("before", "sure"),
    [
        ("", "certain"),
        (f"{TRACEBACK}OSError: image file is truncated (12 bytes not processed)\n", "likely"),
        ("There are not enough slots available in the system to satisfy the 4 slots\n", "likely"),
        (f"{TRACEBACK}RuntimeError: Caught OSError in DataLoader worker process 0.\n", "certain"),
        (f"{TRACEBACK}torch.distributed.DistNetworkError: Connection reset by peer\n", "certain"),
    ],
)
def test_what_failed_before_raises_a_doubt(before: str, sure: str) -> None:
    found = diagnose(parse(before + TRACEBACK + FULL, "x.log"))
    assert (found.cause, found.confidence) == ("disk-full-checkpoint", sure)


def test_torchruns_root_cause_is_named_if_nothing_else_is_known() -> None:
    row = "  time      : 2026-11-20_13:02:50\n  rank      : {r} (local_rank: {r})\n  exitcode  : 1 (pid: {r}1)\n"
    table = "".join(row.format(r=rank) for rank in (1, 2)) + "Root Cause (first observed failure):\n[0]:\n"
    found = diagnose(parse(table + row.format(r=0), "run.log"))
    assert (found.cause, found.where.rank) == (UNPROVEN, 0)


def test_a_pointer_in_a_text_is_not_a_machine() -> None:
    found = diagnose(parse("Segmentation fault: invalid permissions at address 0x7f31c8640200\n", "run.log"))
    assert found.where.node is None
