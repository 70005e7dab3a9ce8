"""What nvidia-smi prints, whole, old, broken, in another language, or something else altogether."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.node.facts import _commands, gpus
from allranks.node.facts._reading import Unreadable
from tests.recorded.parts import smi


def test_a_healthy_machine():
    found = gpus.parse(smi(8))
    assert found["driver"] == "570.124.06" and found["cuda"] == "12.8" and found["reason"] is None
    assert [gpu["index"] for gpu in found["list"]] == list(range(8))
    first = found["list"][0]
    assert first["name"] == "NVIDIA A100-SXM4-80GB" and first["bus_id"] == "0000:07:00.0"
    assert first["memory"] == {
        "total_bytes": 81920 << 20,
        "used_bytes": 0,
        "free_bytes": 81920 << 20,
        "bar1_bytes": 131072 << 20,
    }
    assert first["persistence"] is True and first["mig"] is False and first["compute_mode"] == "Default"
    assert first["ecc"] == {
        "on": True,
        "pending": True,
        "volatile": 0,
        "aggregate": 0,
        "sram_threshold_exceeded": False,
    }
    assert first["rows"] == {
        "remapped_uncorrectable": 0,
        "failure": False,
        "pending": False,
        "retired_pages": None,
    }
    assert first["pcie"]["width"] == 16 and first["power"]["limit_watts"] == 400.0
    assert first["clocks"]["slowed"] == [], "an idle GPU is not slowed"
    assert first["recovery"] is None and first["reset_required"] is False and first["processes"] == []


def test_names_of_older_drivers():
    old = smi(1).replace("gpu_power_readings", "power_readings").replace("current_power_limit", "power_limit")
    old = old.replace("clocks_event_reason", "clocks_throttle_reason")
    old = old.replace("_hw_slowdown>Not Active", "_hw_slowdown>Active")
    old = re.sub(r"<sram_uncorrectable_parity>.*?</sram_uncorrectable_secded>", "", old, flags=re.DOTALL)
    gpu = gpus.parse(old)["list"][0]
    assert gpu["power"]["limit_watts"] == 400.0 and gpu["clocks"]["slowed"] == ["hw_slowdown"]
    assert gpu["ecc"]["volatile"] == 0


def test_memory_errors_of_pascal_and_volta_are_counted_by_bits():
    old = re.sub(
        r"<(volatile|aggregate)>.*?</\1>",
        r"<\1><single_bit><total>4</total></single_bit>"
        r"<double_bit><device_memory>2</device_memory><l2_cache>N/A</l2_cache><total>2</total></double_bit></\1>",
        smi(1),
        flags=re.DOTALL,
    )
    ecc = gpus.parse(old)["list"][0]["ecc"]
    assert ecc["volatile"] == 2 and ecc["aggregate"] == 2
    unread = gpus.parse(old.replace("<total>2</total>", "<total>N/A</total>"))["list"][0]["ecc"]
    assert unread["on"] is True and unread["volatile"] is None


def test_what_a_gpu_cannot_say_is_none_and_not_zero():
    text = smi(1, name="t4")
    for tag in ("gpu_temp", "sm_clock", "total", "instant_power_draw", "dram_uncorrectable", "current_ecc"):
        text = re.sub(f"<{tag}>[^<]*</{tag}>", f"<{tag}>N/A</{tag}>", text)
    for value in ("[N/A]", "[Not Supported]", "Requested functionality has been deprecated", "Unknown Error"):
        gpu = gpus.parse(text.replace("N/A", value))["list"][0]
        assert (
            gpu["temperature"] is None and gpu["ecc"]["on"] is None and gpu["memory"]["total_bytes"] is None
        )
        assert gpu["clocks"]["sm_mhz"] is None


def test_numbers_of_another_language():
    gpu = gpus.parse(smi(1).replace("400.00 W", "400,00 W").replace("81920 MiB", "81920,0 MiB"))["list"][0]
    assert gpu["power"]["limit_watts"] == 400.0 and gpu["memory"]["total_bytes"] == 81920 << 20


def test_of_processes_only_pid_and_short_name_are_kept():
    process = (
        "<processes><process_info><pid>900</pid><type>C</type><process_name>/usr/bin/python3 train.py "
        "--token=hf_secret</process_name><used_memory>1024 MiB</used_memory></process_info></processes>"
    )
    gpu = gpus.parse(re.sub(r"<processes>.*?</processes>", process, smi(1), flags=re.DOTALL))["list"][0]
    assert gpu["processes"] == [{"pid": 900, "type": "C", "name": "python3", "used_bytes": 1 << 30}]
    assert "secret" not in json.dumps(gpu)


@pytest.mark.parametrize(
    ("out", "code", "reason"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            9,
            "couldn't communicate",
        ),
        (
            "Failed to initialize NVML: Driver/library version mismatch\n",
            0,
            "Driver/library version mismatch",
        ),
        ("Unable to determine the device handle for GPU 0000:53:00.0: Unknown Error\n", 0, "0000:53:00.0"),
        ("", 0, "nothing"),
        (smi(8)[:20_000], 0, "breaks off or is damaged"),
        (smi(2).replace("<attached_gpus>2", "<attached_gpus>8"), 0, "counts 8 GPUs and describes 2"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>', 0, "entities"),
    ],
)
def test_anything_else_is_unreadable_in_its_own_words(out, code, reason):
    with pytest.raises(Unreadable, match=re.escape(reason)):
        gpus.parse(out, "", code)


def test_no_device_is_an_answer():
    assert gpus.parse("No devices were found\n", "", 6) == {
        "list": [],
        "driver": None,
        "cuda": None,
        "reason": "No devices were found",
    }


def test_a_hundred_thousand_lines_are_read_or_refused():
    assert len(gpus.parse(smi(8) + "\n" * 100_000)["list"]) == 8
    with pytest.raises(Unreadable):
        gpus.parse("warning: something\n" * 100_000)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 20_000), st.integers(1, 400), st.text(max_size=30))
def test_damaged_output_never_breaks_the_parser(start, length, put):
    text = smi(2)
    damaged = text[:start] + put + text[start + length :]
    try:
        found = gpus.parse(damaged)
    except Unreadable as error:
        assert str(error)
    else:
        json.dumps(found)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_with_a_reason(text):
    try:
        gpus.parse(text, text, 1)
    except Unreadable as error:
        assert str(error)


def test_a_machine_with_gpus_and_no_nvidia_smi_is_unreadable(monkeypatch):
    def missing(*_):
        raise Unreadable("nvidia-smi is not installed")

    monkeypatch.setattr(_commands, "run", missing)
    monkeypatch.setattr(gpus._pci, "gpus", lambda: [{"kind": "gpu"}] * 8)
    with pytest.raises(Unreadable, match="the PCI bus holds 8 NVIDIA GPUs"):
        gpus.query()
    monkeypatch.setattr(gpus._pci, "gpus", lambda: [])
    assert gpus.query()["list"] == []
