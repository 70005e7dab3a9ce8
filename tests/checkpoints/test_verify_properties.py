"""Hostile bytes: whatever is flipped, cut or invented is refused, and nothing is ever raised."""

from __future__ import annotations

import json
import re
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allranks import checkpoints
from allranks.checkpoints import values, weights
from allranks.checkpoints.weights import DTYPE_BITS

COVERED = ("adapter_model.safetensors", "adapter_config.json", "trainer_state.json")
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SHAPES = {"F64": "d", "F32": "f", "F16": "e"}


@QUICK
@given(data=st.data())
def test_any_flipped_bit_of_a_covered_file_is_refused(checkpoint, data):
    checkpoint.write()
    path = checkpoint.path / data.draw(st.sampled_from(COVERED))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(content))

    assert not checkpoints.verify(str(checkpoint.path)).whole


@QUICK
@given(data=st.data(), manifest=st.booleans())
def test_any_truncation_is_refused(checkpoint, data, manifest):
    (checkpoint.path / "allranks.json").unlink(missing_ok=True)
    checkpoint.write(manifest=manifest)
    path = checkpoint.path / data.draw(st.sampled_from(COVERED))
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])

    assert not checkpoints.verify(str(checkpoint.path)).whole


@QUICK
@given(content=st.binary(max_size=400), name=st.sampled_from((*COVERED, "allranks.json")))
def test_any_garbage_is_refused_without_an_error(checkpoint, content, name):
    checkpoint.write()
    (checkpoint.path / name).write_bytes(content)

    assert not checkpoints.verify(str(checkpoint.path)).whole


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(("F32", "BF16", "X")) | JSON,
        "shape": st.lists(st.integers(-1, 1 << 70), max_size=3) | JSON,
        "data_offsets": st.lists(st.integers(-1, 1 << 70), min_size=2, max_size=2) | JSON,
    }
)


@QUICK
@given(table=st.dictionaries(st.text(max_size=12), ENTRY | JSON, max_size=3), tail=st.binary(max_size=64))
def test_any_invented_header_is_refused_without_an_error(checkpoint, raw, table, tail):
    checkpoint.write(manifest=False)
    checkpoint.weights.write_bytes(raw({}, header=json.dumps(table).encode()) + tail)

    assert not checkpoints.verify(str(checkpoint.path)).whole


@QUICK
@given(config=st.dictionaries(st.sampled_from(("r", "peft_type", "target_modules", "lora_alpha", "rank_pattern",
       "modules_to_save", "layers_to_transform", "bias", "target_parameters", "base_model_name_or_path")),
       JSON, max_size=6))  # fmt: skip
def test_any_invented_config_is_judged_without_an_error(checkpoint, config):
    checkpoint.config.update(config)
    checkpoint.write(manifest=False)

    expect = {"rank": 4, "trained": True, "shapes": {"o_proj": [64, 64]}}
    report = checkpoints.verify(str(checkpoint.path), expect)
    assert report.whole == (not [one for one in report.findings if one.verdict in ("block", "unknown")])


def one_tensor(tmp_path, dtype: str, data: bytes):
    path = tmp_path / "values"
    path.write_bytes(data)
    return path, weights.Tensor("t", dtype, (len(data),), 0, len(data))


def scan(path, tensor):
    with open(path, "rb") as file:
        return values.scan(file.fileno(), tensor)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), dtype=st.sampled_from(("F64", "F32", "F16", "BF16")))
def test_every_value_is_looked_at(tmp_path, monkeypatch, data, dtype):
    """Against the struct module, value by value, with a chunk so small that tensors have several."""
    monkeypatch.setattr(values, "CHUNK_BYTES", 32)
    width = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}[dtype]
    special = st.sampled_from((b"\0" * width, b"\xff" * width, b"\0" * (width - 1) + b"\x80"))
    lanes = data.draw(st.lists(special | st.binary(min_size=width, max_size=width), min_size=1, max_size=40))
    path, tensor = one_tensor(tmp_path, dtype, b"".join(lanes))
    if dtype == "BF16":
        numbers = [struct.unpack("<f", b"\0\0" + lane)[0] for lane in lanes]
    else:
        numbers = [struct.unpack("<" + SHAPES[dtype], lane)[0] for lane in lanes]

    finite, zero = scan(path, tensor)

    is_finite = all(n == n and abs(n) != float("inf") for n in numbers)
    assert finite == is_finite
    assert zero == all(n == 0 for n in numbers) or not is_finite


@pytest.mark.parametrize(
    ("dtype", "lane", "finite"),
    [
        ("F8_E5M2", b"\x7c", False),
        ("F8_E5M2", b"\x7b", True),
        ("F8_E4M3", b"\xff", False),
        ("F8_E4M3", b"\x7e", True),
        ("F8_E8M0", b"\xff", False),
        ("F8_E8M0", b"\xfe", True),
        ("C64", b"\x00\x00\x80\x3f\x00\x00\xc0\x7f", False),
        ("C64", b"\x00\x00\x80\x3f\x00\x00\x80\x3f", True),
        ("I64", b"\xff" * 8, True),
        ("BOOL", b"\x01", True),
    ],
)
def test_small_floats_and_whole_numbers(tmp_path, dtype, lane, finite):
    path, tensor = one_tensor(tmp_path, dtype, bytes(len(lane)) * 5 + lane + bytes(len(lane)))

    assert scan(path, tensor) == (finite, False)


def test_zeros_of_many_chunks_are_zero(tmp_path):
    path, tensor = one_tensor(tmp_path, "BF16", bytes(values.CHUNK_BYTES * 2 + 6))

    assert scan(path, tensor) == (True, True)


def test_a_file_that_shrinks_while_it_is_read_is_damage(tmp_path):
    path, tensor = one_tensor(tmp_path, "BF16", bytes(64))
    path.write_bytes(bytes(10))

    with pytest.raises(weights.Damaged) as damage:
        scan(path, tensor)
    assert damage.value.id == "adapter-truncated"


def test_the_width_of_a_type_is_the_one_in_its_name():
    for name, bits in DTYPE_BITS.items():
        assert bits == (8 if name == "BOOL" else int(re.search(r"\d+", name)[0])), name
