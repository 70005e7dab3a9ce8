"""The demo's inputs, its twin that is started by hand, and the pins of the environment they run in."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def make_tiny():
    spec = importlib.util.spec_from_file_location("make_tiny", ROOT / "examples" / "make_tiny.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_data_set_is_made_from_the_text_alone(make_tiny, tmp_path):
    text = make_tiny.TEXT.read_text()
    count = make_tiny.write_dataset(tmp_path / "data", text)
    rows = json.loads((tmp_path / "data" / "keeping.json").read_text())
    assert len(rows) == count >= 200
    info = json.loads((tmp_path / "data" / "dataset_info.json").read_text())
    assert (tmp_path / "data" / info["keeping"]["file_name"]).exists()
    known = set(re.findall(r"\w+", text))
    for row in rows:
        assert set(row) == {"instruction", "input", "output"} and row["output"].strip()
        assert set(re.findall(r"\w+", row["input"] + " " + row["output"])) <= known
    assert rows == make_tiny.examples(text)  # the same every time


def test_making_is_skipped_where_nothing_changed_and_refused_where_others_files_are(make_tiny, tmp_path):
    done, foreign = tmp_path / "done", tmp_path / "foreign"
    for folder in (done, foreign):
        folder.mkdir()
    (done / make_tiny.STAMP).write_text(make_tiny.digest() + "\n")
    (foreign / "thesis.txt").write_text("mine")
    command = ["python3", str(ROOT / "examples" / "make_tiny.py")]
    assert subprocess.run([*command, str(done)], timeout=120).returncode == 0
    refused = subprocess.run([*command, str(foreign)], timeout=120, capture_output=True, text=True)
    assert refused.returncode == 1 and "did not make" in refused.stderr
    assert (foreign / "thesis.txt").read_text() == "mine"


def test_the_run_by_hand_has_the_demos_settings():
    demo = yaml.safe_load((ROOT / "examples" / "tiny-deepseek-v3.yaml").read_text())
    script = (ROOT / "benchmarks" / "by_hand.sh").read_text()
    by_hand = dict(re.findall(r'^    "?--([a-z0-9_]+)=([^"\n]*)"?$', script, re.MULTILINE))
    asked = {
        key: str(value).lower() if value is not None else ""
        for key, value in demo["train"]["llamafactory"].items()
    }
    places = {"model_name_or_path", "dataset_dir", "output_dir", "deepspeed"}
    ours = {"save_strategy": "steps", "save_steps": str(demo["save"]["every"])}
    ours["save_total_limit"] = str(demo["save"]["keep"])
    assert {k: v for k, v in by_hand.items() if k not in places} == {
        **{k: v for k, v in asked.items() if k not in places},
        **ours,
    }
    assert "OMP_NUM_THREADS=1" in script and demo["env"] == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("name", ["torch", "train", "llamafactory", "dev", "legacy"])
def test_every_pin_is_exact_and_names_no_host(name):
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pins = [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]
    assert pins and all(re.fullmatch(r"[a-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins), pins
    assert not any("://" in line or line.startswith("-") for line in lines)
    if name in ("train", "dev"):
        assert not any(
            pin.startswith(("torch==", "torchvision", "torchaudio", "nvidia", "cuda")) for pin in pins
        )


def test_setup_says_what_it_does_not_know():
    done = subprocess.run(
        [str(ROOT / "scripts" / "setup.sh"), "--everything"], timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 1 and "unknown argument: --everything" in done.stderr
