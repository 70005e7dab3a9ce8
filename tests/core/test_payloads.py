"""Events have types: what is declared is read back as it was told, and a wrong field is refused where it comes in."""

from __future__ import annotations

import ast
import json
import math
import random
from pathlib import Path

import pytest

from allranks.core import Event, event_from_json, told
from allranks.core.events import kinds
from allranks.core.node_events import Sample, TorchrunEnded
from allranks.core.payloads import Payload, Refused, plan_of
from allranks.core.rank_events import Beat, Flight, Frame, Raised
from allranks.core.run_events import Resume

TELLERS = (("", "Event", 1), ("node", "_tell", 0), ("worker", "emit", 0), ("runs", "note", 0))
"""In which room, by which call, in which of its words an event's kind stands."""


def read(kind, **data):
    return event_from_json({"at": 5.0, "kind": kind, "node": "a", "rank": 0, "data": data})


def test_a_beat_is_read_with_its_types():
    steps = [[7, 3, 1.5, None, 64, 1e-5, 0.25], [8, math.nan]]
    beat: Beat = read("beat", phase="training", step=8.0, steps=steps, carried=[7, None], newer=1).payload
    assert type(beat) is Beat and beat.step == 8 and type(beat.step) is int
    assert beat.steps[0] == (7, 3.0, 1.5, None, 64.0, 1e-5, 0.25)
    assert math.isnan(beat.steps[1].loss or 0.0) and beat.steps[1].tokens is None
    assert beat.gpu_bytes is None and beat.trouble == () and not hasattr(beat, "newer")


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("beat", {"step": "8"}, "beat: step: '8' is not a whole number"),
        ("beat", {"step": True}, "beat: step: True is not"),
        ("beat", {"steps": [[1, 3.0, math.inf]]}, "beat: steps: inf is not a finite number"),
        ("beat", {"steps": [[]]}, "beat: steps: [] is not a row of 7"),
        ("beat", {"steps": {"a": 1}}, "beat: steps: {'a': 1} is not a list"),
        ("beat", {"rss_bytes": 10**400}, "beat: rss_bytes: a huge number is not"),
        ("beat", {"progress": []}, "beat: progress: [] is not an object"),
        ("start", {"world_size": 10**9}, "start: world_size: 1000000000 is not a whole number from 0 to"),
        ("start", {"gpu": {"uuid": 4}}, "start: gpu: uuid: 4 is not a text"),
        ("evidence", {"quiet": 1}, "evidence: quiet: 1 is neither true nor false"),
        ("finding", {"id": "x"}, "finding: verdict is missing"),
        ("finding", {"id": "x", "verdict": "odd"}, "finding: verdict 'odd' is none of"),
        ("sample", {"disks": [7]}, "sample: disks: 7 is not an object"),
        ("sample", {"disks": [{"frozen_seconds": "x"}]}, "sample: disks: frozen_seconds: 'x' is not"),
        ("sample", {"ranks": {"0": 3}}, "sample: ranks: 3 is not an object"),
    ],
)
def test_a_wrong_field_is_refused_with_its_place(kind, data, said):
    with pytest.raises(Refused) as error:
        read(kind, **data)
    assert str(error.value).startswith(said) and len(str(error.value)) < 300


@pytest.mark.parametrize("at", [math.nan, math.inf, 1e12, "5", None, 10**400])
def test_a_forged_time_is_refused(at):
    with pytest.raises(Refused):
        event_from_json({"at": at, "kind": "beat", "data": {}})


@pytest.mark.parametrize(
    "value", [None, [], "x", {"at": 1.0}, {"at": 1.0, "kind": 3}, {"at": 1.0, "kind": "end", "data": 3}]
)
def test_what_is_no_event_is_refused(value):
    with pytest.raises(Refused):
        event_from_json(value)


def test_an_unknown_kind_and_an_unknown_field_are_kept_in_the_journal():
    unknown = read("of-tomorrow", deep=[{"x": 1}])
    assert type(unknown.payload) is Payload and unknown.as_json()["data"] == {"deep": [{"x": 1}]}
    assert read("end", code=0, more=2).as_json()["data"] == {"code": 0, "more": 2}


def test_null_is_what_nobody_knows():
    assert read("settings", total_steps=None, notes=None).payload.notes == ()
    flight: Flight = read("flight", sequence=3, completed=None, pending=None).payload
    assert flight.is_followed and not read("flight", sequence=3).payload.is_followed


def test_what_is_told_is_read_back_the_same():
    payload = Raised(type="E", message="m", frames=(Frame("a.py", 3, "f"),), communication=False)
    event = told(payload, "a", 3)
    again = event_from_json(json.loads(event.as_line()))
    assert again == event and again.payload == payload and again.payload.frames[0].function == "f"
    assert told(Resume(from_="/x", step=3)).data == {"from": "/x", "step": 3}
    assert event_from_json(told(Resume(from_="/x")).as_json()).payload.from_ == "/x"


def test_a_field_that_is_not_declared_cannot_be_told():
    with pytest.raises(TypeError, match="Beat has no field setp"):
        Beat(setp=3)  # type: ignore[call-arg]


def test_an_event_of_unchecked_data_is_checked_when_it_is_read():
    with pytest.raises(Refused):
        _ = Event(1.0, "end", data={"code": "x"}).payload


def test_random_values_are_read_or_refused_and_never_break_anything():
    dice = random.Random(7)
    odd = [
        None,
        1,
        -1,
        0.5,
        math.nan,
        10**400,
        "x",
        "\ud800",
        True,
        [],
        [[]],
        {},
        {"a": 1},
        [1, 2],
        [[1, "x"]],
        [{"rank": 0}],
    ]
    refused = 0
    for _ in range(4000):
        kind = dice.choice(list(kinds()))
        fields = list(plan_of(kinds()[kind]).fields)
        data = {name: dice.choice(odd) for name in fields if dice.random() < 0.3}
        try:
            read(kind, **data)
        except Refused:
            refused += 1
    assert 1000 < refused < 4000


def test_every_kind_that_is_told_is_declared(root: Path):
    spoken = set()
    for path in (root / "src" / "allranks").rglob("*.py"):
        room = path.relative_to(root / "src" / "allranks").parts[0]
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call):
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                words = [
                    call.args[n : n + 1] for where, by, n in TELLERS if by == name and where in ("", room)
                ]
                spoken |= {w.value for one in words for w in one if isinstance(w, ast.Constant)}
    assert {"stack", "exception", "flight"} <= spoken
    assert not spoken - set(kinds())


def test_a_sample_and_a_failure_are_read_in_depth():
    sample: Sample = read("sample", disks=[{"path": "/", "gone": True}], ranks={"3": {"state": "T"}}).payload
    assert sample.disks[0].gone and sample.disks[0].free_bytes is None and sample.ranks["3"].state == "T"
    ended: TorchrunEnded = read("torchrun-ended", code=1, failures=[{"rank": 2, "code": -9}]).payload
    assert ended.failures[0].rank == 2 and ended.failures[0].local_rank is None
