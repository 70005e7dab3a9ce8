"""What a glance at a run shows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import Event
from allranks.monitor import Watch, progress


def beat(at, rank, step, seconds=2.0, phase="training"):
    steps = [[step, 5.0 - step / 10, seconds, 0.1, 512, 1e-5]]
    data = {"phase": phase, "step": step, "total_steps": 20, "steps": steps, "rss_bytes": 1 << 30}
    return Event(at, "beat", "a", rank, data)


def test_progress_of_two_ranks():
    events = [beat(float(s), r, s, seconds=2.0 + r) for s in range(1, 6) for r in (0, 1)]
    shown = progress(events)
    assert (shown.step, shown.total_steps, shown.phase) == (5, 20, "training")
    assert shown.step_seconds == pytest.approx(3.0) and shown.seconds_left == pytest.approx(45.0)
    assert shown.tokens_per_second == pytest.approx(512 / 2 + 512 / 3)
    assert shown.loss == pytest.approx(4.5) and shown.ranks[1].data_seconds == pytest.approx(0.1)


def test_the_furthest_behind_names_the_phase():
    assert progress([beat(1.0, 0, 3), beat(1.0, 1, 2, phase="loading")]).phase == "loading"


def test_nothing_is_known_of_nothing():
    shown = progress([])
    assert shown.step is None and shown.seconds_left is None and shown.ranks == {}


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
nested = st.lists(plain, max_size=4) | st.dictionaries(st.text(max_size=3), plain, max_size=3)
values = plain | nested | st.lists(nested, max_size=3)
KINDS = [
    "start",
    "settings",
    "beat",
    "exception",
    "end",
    "rank-gone",
    "torchrun-ended",
    "lost",
    "joined",
    "sample",
]
KEYS = [
    "pid",
    "gpu",
    "world_size",
    "step",
    "steps",
    "phase",
    "code",
    "failures",
    "frames",
    "message",
    "rss_bytes",
]
strange = st.builds(
    Event,
    at=st.floats(min_value=0, max_value=1e9),
    kind=st.sampled_from(KINDS),
    node=st.sampled_from([None, "a", "b"]),
    rank=st.sampled_from([None, 0, 1]),
    data=st.dictionaries(st.sampled_from(KEYS), values, max_size=5),
)


@settings(max_examples=60)
@given(st.lists(strange, max_size=12))
def test_no_event_of_another_machine_breaks_the_watch(events):
    watch = Watch({"world_size": 2, "trainable_parameters": 5})
    for event in events:
        watch.add(event)
        watch.tick(event.at)
    watch.verdict(2e9)
    watch.progress(2e9)
    assert not watch.faulty
