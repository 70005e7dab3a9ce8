"""Events and lines are weighed on one scale, and the heaviest signal counts."""

from __future__ import annotations

from allranks import diagnose
from allranks.core import Diagnosis, Event
from allranks.diagnose import Signal, heaviest
from allranks.diagnose.symptom import GONE, LEFT, LOST, PROVEN, SEEN, STRONG, WITNESSED
from allranks.monitor import Watch


def test_what_events_prove_is_heavier_than_any_line() -> None:
    heaviest_line = max(p.weight for module in diagnose.modules().values() for p in module.PATTERNS)
    assert STRONG < PROVEN == heaviest_line < LOST < SEEN < GONE < WITNESSED
    assert LEFT < STRONG


def test_the_heaviest_counts_then_the_earliest_then_the_first() -> None:
    def said(weight: int, at: float, cause: str) -> Signal:
        return Signal(weight, Diagnosis(cause, "likely"), at)

    assert heaviest([]) is None
    signals = [said(30, 0.0, "a"), said(70, 2.0, "b"), said(70, 1.0, "c"), said(70, 1.0, "d")]
    found = heaviest(signals)
    assert found is not None and found.diagnosis.cause == "c"


def left_early(log: str) -> Diagnosis | None:
    """Rank 1 leaves with 0 at step 4 of 9; rank 0 loses its peer and has printed this."""
    watch = Watch({"world_size": 2})
    for rank, node in ((0, "a"), (1, "b")):
        watch.add(Event(1.0, "start", node, rank, {"pid": rank + 9, "start_time": rank}))
        watch.add(Event(2.0, "beat", node, rank, {"phase": "training", "step": 4, "total_steps": 9}))
    watch.add(Event(3.0, "end", "b", 1, {"code": 0}))
    watch.add(Event(3.1, "rank-gone", "b", 1, {"code": 0}))
    lost = {"type": "RuntimeError", "message": "Connection closed by peer", "communication": True}
    watch.add(Event(3.5, "exception", "a", 0, lost))
    watch.add(Event(3.6, "torchrun-ended", "a", None, {"code": 1}))
    watch.add_lines(0, log.splitlines(), "a", "rank-0.log")
    return watch.verdict(9.0)


def test_a_warning_in_another_ranks_log_is_lighter_than_an_early_exit() -> None:
    found = left_early("WARNING: No module named 'apex'\n")
    assert found is not None and (found.cause, found.where.rank) == ("rank-exited-early", 1)


def test_a_reason_in_any_log_is_heavier_than_an_early_exit() -> None:
    found = left_early("OSError: [Errno 28] No space left on device\n")
    assert found is not None and (found.cause, found.where.rank) == ("disk-full-checkpoint", 0)
