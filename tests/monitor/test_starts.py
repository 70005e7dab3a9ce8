"""What ranks say of their start is held together, and said once: not once a rank."""

from __future__ import annotations

from allranks.core import Event, Finding
from allranks.monitor import Watch


def said(name: str, key: str, values: list[str], told: int | None = None) -> list[Finding]:
    """Ranks, eight a node, tell `values` one after another; then a minute and a half passes."""
    watch, found = Watch({"world_size": len(values)}), []
    for rank, value in enumerate(values[:told]):
        data = {key: value, "framework": "transformers", "samples": 100000, "micro_batch": 2}
        found += watch.add(Event(1.0 + rank / 100, "settings", f"node-{rank // 8}", rank, data))
    for second in range(3, 95):
        found += watch.tick(float(second))
    assert not watch.faulty
    return [f for f in found if f.id == name]


def test_the_replica_that_is_unlike_most_is_named_once() -> None:
    values = ["aa"] * 24
    values[0] = "bb"
    (one,) = said("replicas-differ", "trainable_digest", values)
    assert (one.where.rank, one.verdict) == (0, "block") and "0 unlike rank 1" in one.saw
    (many,) = said("replicas-differ", "trainable_digest", [str(rank) for rank in range(24)])
    assert "24 ranks have 24 digests" in many.saw and "and 15 more" in many.saw


def test_a_rank_that_does_not_tell_does_not_keep_the_others_from_being_judged() -> None:
    assert len(said("replicas-differ", "trainable_digest", ["aa", "bb", "aa"], told=2)) == 1
    assert len(said("same-data", "data_digest", ["aa", "aa", "bb"], told=2)) == 1


def test_all_ranks_that_read_the_same_are_one_finding() -> None:
    (one,) = said("same-data", "data_digest", ["aa"] * 24)
    assert "all 24 ranks" in one.saw and one.verdict == "warn"
    (some,) = said("same-data", "data_digest", [str(rank // 8) for rank in range(24)])
    assert "rank 0, 1, 2, 3, 4, 5, 6, 7 are the same" in some.saw and "2 other groups" in some.saw
    assert said("same-data", "data_digest", [str(rank) for rank in range(24)]) == []


def test_ranks_that_each_train_alone_are_one_finding() -> None:
    watch = Watch({"world_size": 24})
    found = []
    for rank in range(24):
        for kind in ("start", "settings"):
            found += watch.add(Event(1.0, kind, f"node-{rank // 8}", rank, {"world_size": 1, "pid": rank}))
    assert [(f.id, f.where.rank) for f in found] == [("trained-alone", 0)]
    assert "24 ranks would train 24 separate runs" in found[0].why
