"""The flight recorder's pickles: torch's own are read, and nothing in one is ever carried out."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.worker import flight_recorder, recorder_pickle

ENTRY = {"collective_seq_id": 7, "profiling_name": "nccl:all_reduce", "input_sizes": [[4]], "is_p2p": False}
DUMP = {"version": "2.4", "entries": [{**ENTRY, "process_group": ("0", "default_pg"), "state": "started"}]}


class Evil:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_what_torch_writes_is_read():
    assert recorder_pickle.load(pickle.dumps(DUMP, protocol=2)) == DUMP
    assert recorder_pickle.load(pickle.dumps(DUMP, protocol=4)) == DUMP


def test_a_dump_of_torch_2_13_is_read():
    """`torch._C._distributed_c10d._dump_fr_trace(True, False, False)` after three all-reduces over gloo."""
    recorded = Path(__file__).parents[1] / "recorded" / "flight-gloo-torch-2.13.pickle"
    found = recorder_pickle.load(recorded.read_bytes())
    told = flight_recorder.newest(found["entries"])
    assert (told["sequence"], told["operation"], told["group"]) == (3, "gloo:all_reduce", "0")


def test_an_old_torchs_recorder_is_read(monkeypatch):
    module = types.ModuleType("torch._C._distributed_c10d")
    monkeypatch.setattr(
        module, "_dump_nccl_trace", lambda collectives, stacks: pickle.dumps(DUMP, 2), raising=False
    )
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", module)
    (entry,) = flight_recorder.entries()
    assert flight_recorder.newest([entry])["sequence"] == 7
    monkeypatch.setattr(module, "_dump_nccl_trace", lambda: pickle.dumps(DUMP["entries"], 2))
    assert flight_recorder.entries() == [{**DUMP["entries"][0], "group": "0"}]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_call_is_refused_and_not_made(tmp_path, protocol):
    made = tmp_path / "made"
    with pytest.raises(recorder_pickle.Refused):
        recorder_pickle.load(pickle.dumps({"entries": [Evil(made)]}, protocol=protocol))
    assert not made.exists()


HOSTILE = {
    "global": b"cos\nsystem\n.",
    "global and reduce": b"cos\nsystem\n(S'true'\ntR.",
    "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "inst": b"(S'true'\nios\nsystem\n.",
    "extension": b"\x80\x02\x82\x01.",
    "persistent": b"Pname\n.",
    "build": b"\x80\x02}}b.",
    "huge memo": b"\x80\x02Nr" + struct.pack("<I", 0x7FFFFFFF) + b".",
    "huge bytes": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"x.",
    "huge bytearray": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x.",
    "huge text": b"\x80\x02X" + struct.pack("<I", 0xFFFFFFFF) + b"x.",
    "huge number": b"\x80\x02\x8b" + struct.pack("<I", 0x7FFFFFF0) + b"\x01.",
    "deep": b"\x80\x02" + b"(" * 100_000 + b"t" * 100_000 + b".",
    "no end": b"\x80\x02]",
    "nothing on the stack": b"\x80\x02.",
    "append to nothing": b"\x80\x02Na.",
    "a list as a key": b"\x80\x02}]Ns.",
    "empty": b"",
    "text": b"no pickle at all",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_refused(data):
    with pytest.raises(recorder_pickle.Refused):
        recorder_pickle.load(data)


def test_a_dump_that_was_cut_off_is_refused_wherever_it_was():
    whole = pickle.dumps(DUMP, protocol=2)
    for end in range(len(whole)):
        with pytest.raises(recorder_pickle.Refused):
            recorder_pickle.load(whole[:end])


def test_too_many_bytes_are_not_even_looked_at(monkeypatch):
    monkeypatch.setattr(recorder_pickle, "MOST_BYTES", 10)
    with pytest.raises(recorder_pickle.Refused, match="at most 10"):
        recorder_pickle.load(pickle.dumps(DUMP))


BUILTIN = (dict, list, tuple, str, bytes, int, float, bool, type(None))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_builtins_or_are_refused(data, head):
    try:
        found = recorder_pickle.load((b"\x80\x02" if head else b"") + data + b".")
    except recorder_pickle.Refused:
        return
    assert type(found) in BUILTIN


def child(data):
    """How `load` ends in a process of its own: it may hang or crash."""
    code = (
        "import sys; from allranks.worker import recorder_pickle\n"
        "try: recorder_pickle.load(sys.stdin.buffer.read())\n"
        "except recorder_pickle.Refused as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=data, capture_output=True, timeout=30, check=True
    )
    return done.stdout.decode()


SHARED = {
    "duplicated": b"})" + b"2\x86" * 40 + b"Ns.",
    "from the memo": b"})" + b"q\x00h\x00\x86" * 40 + b"Ns.",
    "in one setting of many": b"}()" + b"2\x86" * 40 + b"Nu.",
    "deep": b"})" + b"\x85" * 1_000_000 + b"Ns.",
}


@pytest.mark.parametrize("name", SHARED)
def test_a_tuple_as_a_key_is_refused_and_not_hashed(name):
    said = child(SHARED[name])
    assert "container for a key" in said or "containers one inside the other" in said


@pytest.mark.parametrize(
    "data", [b"(((((((((()" * 9 + b".", b")" + b"\x85" * 65 + b".", b"]" * 3 + b"a" * 2 + b"(a."]
)
def test_what_is_too_deep_or_does_not_fit_is_refused(data):
    with pytest.raises(recorder_pickle.Refused):
        recorder_pickle.load(data)


def test_keys_that_come_from_the_memo_are_read():
    found = [{"a": (1, 2), "b": [{}]}, {"a": (3,), "b": []}]
    for protocol in (2, 3, 4, 5):
        assert recorder_pickle.load(pickle.dumps(found, protocol=protocol)) == found
