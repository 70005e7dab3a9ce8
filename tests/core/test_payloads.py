"""Events have types: what is declared is read back as it was told, and a wrong field is refused where it comes in."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import pytest

from allranks.core import Event, event_from_json, told
from allranks.core.events import kinds
from allranks.core.node_events import Sample, TorchrunEnded
from allranks.core.payloads import Payload, Refused, plan_of
from allranks.core.rank_events import Beat, Flight, Frame, Raised
from allranks.core.run_events import Resume


def read(kind, **data):
    return event_from_json({"at": 5.0, "kind": kind, "node": "a", "rank": 0, "data": data})


def test_a_beat_is_read_with_its_types():
    steps = [[7, 3, 1.5, None, 64, 1e-5, 0.25, 1.75], [8, math.nan]]
    beat: Beat = read("beat", phase="training", step=8.0, steps=steps, carried=[7, None], newer=1).payload
    assert type(beat) is Beat and beat.step == 8 and type(beat.step) is int
    assert beat.steps[0] == (7, 3.0, 1.5, None, 64.0, 1e-5, 0.25, 1.75)
    assert math.isnan(beat.steps[1].loss or 0.0) and beat.steps[1].tokens is None
    assert beat.gpu_bytes is None and beat.trouble == () and not hasattr(beat, "newer")


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("beat", {"step": "8"}, "beat: step: '8' is not a whole number"),
        ("beat", {"step": True}, "beat: step: True is not"),
        ("beat", {"steps": [[1, 3.0, math.inf]]}, "beat: steps: seconds: inf is not a finite number"),
        ("beat", {"steps": [[]]}, "beat: steps: [] is not a row of 8"),
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
def test_a_wrong_field_is_told_with_its_place(kind, data, said):
    try:
        (why,) = (f"{kind}: {one}" for one in read(kind, **data).odd)
    except Refused as error:
        why = str(error)
    assert why.startswith(said) and len(why) < 300
    assert (kind == "finding") == (said.startswith("finding")), "only what must be there refuses the event"


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
    event = Event(1.0, "end", data={"code": "x"})
    assert event.payload.code is None and event.odd == ["code: 'x' is not a whole number"]
    with pytest.raises(Refused):
        _ = Event(1.0, "finding", data={"verdict": "x"}).payload


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ODD = [
    None, 1, -1, 0.5, 1e308, 10**19, math.nan, math.inf, 10**400, "x", "1e-5", "", "\ud800", True, [], [[]], {},
    {"a": 1}, {"rank": "x"}, [1, 2], [["x"] * 9], [[1, "x"]], [[None] * 7], [{"rank": 0}], [{"rank": "x"}, 3],
    {"0": {"state": 4}}, nested(500),
]  # fmt: skip
OPTIONAL = [
    (kind, name)
    for kind, payload in kinds().items()
    for name, field in plan_of(payload).fields.items()
    if field.name not in plan_of(payload).needed
]


@pytest.mark.parametrize(("kind", "name"), OPTIONAL)
def test_no_value_of_an_optional_field_loses_the_event(kind, name):
    least = {"finding": {"id": "x", "verdict": "warn"}}.get(kind, {"cause": "x", "confidence": "likely"})
    least = least if kind in ("finding", "diagnosis") else {"path": "/x", "sequence": 3, "step": 4}
    for value in ODD:
        try:
            event = read(kind, **{**least, name: value})
        except Refused:
            assert kind == "flight", "that is compared with other ranks' answers: all of it or nothing"
            continue
        again = event_from_json(json.loads(event.as_line()))
        assert not again.odd and again.as_line() == event.as_line(), "what is passed on is checked"
        assert all(again.data[k] == v for k, v in least.items() if k != name)


def test_only_the_wrong_part_is_left_out():
    rows = [[7, 3.0, 1.0, 0.1, "64", 10**400, 0.2], ["8", 2.5]]
    beat = read("beat", step=8, steps=rows, gpu_bytes="3")
    assert beat.payload.step == 8 and not beat.payload.has("gpu_bytes")
    assert beat.payload.steps == ((7, 3.0, 1.0, 0.1, None, None, 0.2, None), (None, 2.5, *[None] * 6))
    assert [why.split(" ")[1] for why in beat.odd] == ["tokens:", "learning_rate:", "step:", "'3'"]
    gpus = [{"uuid": "a", "utilization": "N/A", "throttle": ["x"]}]
    (gpu,) = read("sample", gpus=gpus, memory_total_bytes=5).payload.gpus
    assert (gpu.uuid, gpu.utilization, gpu.throttle) == ("a", None, ("x",))
    assert read("start", pid=3, gpu={"uuid": 4, "bus_id": "b"}).payload.gpu is None, "slices share the bus"


def test_a_value_as_deep_as_json_reads_it_is_said_and_breaks_nothing():
    for depth in (50, 300, 600, 900, 950, 980, 990):
        line = '{"at":1.0,"kind":"beat","data":{"step":%s,"phase":"training"}}' % ("[" * depth + "]" * depth)
        try:
            value = json.loads(line)
        except RecursionError:
            continue
        assert event_from_json(value).payload.phase == "training"


# What a journal of an earlier version holds; it stays readable, with nothing left out.
EARLIER = """
{"at":1763.1,"kind":"supervisor","node":"node-0","rank":null,"data":{"process":{"pid":812,"start_time":93112,"boot_id":"b","node":"node-0","run_id":"r","container":null,"scheduler_job":null},"clock":1763.1}}
{"at":1763.2,"kind":"start","node":"node-0","rank":0,"data":{"pid":830,"start_time":93200,"boot_id":"b","host":"h","local_rank":0,"world_size":2,"python":"3.10.12","torch":null,"gpu":null}}
{"at":1763.3,"kind":"settings","node":"node-0","rank":0,"data":{"framework":"llamafactory","zero_stage":3,"reduce_bucket_size":500000000.0,"total_steps":40,"epochs":1,"notes":[]}}
{"at":1763.4,"kind":"beat","node":"node-0","rank":0,"data":{"phase":"training","step":2,"total_steps":40,"steps":[[1,3.2,0.9,0.01,512,0.0001],[2,NaN,1]],"rss_bytes":1048576,"progress":null}}
{"at":1763.5,"kind":"exception","node":"node-0","rank":0,"data":{"type":"ValueError","message":"m","frames":[["a.py",3,"f"]],"communication":false}}
{"at":1763.6,"kind":"flight","node":"node-0","rank":0,"data":{"sequence":4,"operation":"all_reduce","sizes":[[4]],"state":"scheduled","timeout_seconds":600.0,"group":"0"}}
{"at":1763.7,"kind":"torchrun-ended","node":"node-0","rank":null,"data":{"code":1,"failures":[{"rank":0,"local_rank":0,"pid":830,"code":-9}],"attempt":0}}
{"at":1763.8,"kind":"finding","node":null,"rank":null,"data":{"id":"no-progress","verdict":"warn","where":{"node":"n","rank":3},"saw":"s","expected":"e","why":"w","fix":"f","evidence":["x"],"blocks":false}}
"""


def test_a_journal_of_an_earlier_version_is_read_whole():
    events = [event_from_json(json.loads(line)) for line in EARLIER.split("\n") if line]
    assert len(events) == 8 and not any(event.odd for event in events)
    assert events[3].payload.steps[0].tokens == 512 and events[7].payload.where.rank == 3


@pytest.mark.lengthy
def test_no_event_is_made_with_a_kind_as_a_string(root: Path):
    """Whoever makes an event passes its declared content, so that the types are checked where it is written."""
    for path in (root / "src" / "allranks").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Event":
                assert not any(
                    isinstance(word, ast.Constant) and isinstance(word.value, str) for word in call.args
                ), path


def test_a_sample_and_a_failure_are_read_in_depth():
    sample: Sample = read("sample", disks=[{"path": "/", "gone": True}], ranks={"3": {"state": "T"}}).payload
    assert sample.disks[0].gone and sample.disks[0].free_bytes is None and sample.ranks["3"].state == "T"
    ended: TorchrunEnded = read("torchrun-ended", code=1, failures=[{"rank": 2, "code": -9}]).payload
    assert ended.failures[0].rank == 2 and ended.failures[0].local_rank is None
