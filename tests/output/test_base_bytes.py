"""Reading the base model, in bytes, in the live view."""

from __future__ import annotations

from allranks.core.rank_events import BASE_BYTES
from allranks.output.base_bytes import BaseBytes
from allranks.output.terminal import plain_line
from allranks.output.terminal_frame import Snapshot

MiB = 1 << 20


def beat(done: object, total: object = 1000 * MiB, what: str = BASE_BYTES) -> dict:
    return {"what": what, "done": done, "total": total}


def test_bytes_rate_and_what_is_left() -> None:
    seen = BaseBytes()
    assert seen.text() == ""
    for rank in (0, 1):
        seen.note(rank, 100.0, beat(0))
    assert seen.text() == "0 B of 1.95 GiB"
    seen.note(0, 104.0, beat(400 * MiB))
    assert " at " not in seen.text()  # one rank's rate is not yet known
    seen.note(1, 104.0, beat(200 * MiB))  # the slower one: 50 MiB/s, 800 MiB left
    assert seen.text() == "600 MiB of 1.95 GiB at 150 MiB/s, 0:16 left"
    seen.note(0, 110.0, beat(1000 * MiB))
    seen.note(1, 120.0, beat(1000 * MiB))
    assert seen.text().startswith("1.95 GiB of 1.95 GiB at ") and "left" not in seen.text()


def test_a_rank_that_is_done_and_one_that_tells_nonsense_are_left_out() -> None:
    seen = BaseBytes()
    seen.note(0, 1.0, beat(5))
    for odd in (beat("5"), beat(-1), beat(5, 4), beat(True)):
        seen.note(1, 1.0, odd)
    assert seen.text() == "5 B of 0.977 GiB"
    seen.note(0, 2.0, None)
    assert seen.text() == ""
    seen.note(0, 3.0, beat(5, what="tokenizing"))
    assert seen.text() == ""


def test_bytes_of_a_cache_are_said() -> None:
    seen = BaseBytes()
    for rank in (0, 1):
        seen.note(rank, 1.0, {**beat(5), "source": "cache"})
    assert seen.text() == "10 B of 1.95 GiB from the nodes' caches"
    seen.note(1, 2.0, {**beat(5), "source": "storage"})
    assert "cache" not in seen.text()


def test_a_log_has_it_too() -> None:
    assert plain_line(Snapshot(base_bytes="5 B of 9 B"), "loading") == "loading  5 B of 9 B"
