"""The end of a run on the head: what the proof says, and what state the run deserves then."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from allranks.node.paths import RunDirectory
from allranks.runs.keeper_finish import Finish
from allranks.runs.keeper_io_worker import run_out
from allranks.runs.keeper_output import Output
from allranks.runs.keeper_record import Record

RUN = "proved-1121-abcd"


def write_adapter(folder: Path) -> None:
    """A whole LoRA adapter of one module, rank 2, written by hand."""
    tensors = {
        "base_model.model.layers.0.q_proj.lora_A.weight": ([2, 4], [0.5] * 8),
        "base_model.model.layers.0.q_proj.lora_B.weight": ([4, 2], [0.25] * 8),
    }
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))


@pytest.fixture
def finish(home: Path, tmp_path: Path):
    """(finish, record) for a run whose training environment answers the proof with `answer`."""

    def make(answer: str, code: int = 0) -> tuple[Finish, Record]:
        base = tmp_path / "base"
        base.mkdir()
        (base / "model.safetensors").write_bytes(b"x" * 100)
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {code}\n")
        python.chmod(0o755)
        output = tmp_path / "output"
        job = {
            "run_id": RUN,
            "node": "a",
            "env": {},
            "inside": "/nowhere.zip",
            "keep": {
                "output_dir": str(output),
                "keep": 2,
                "python": str(python),
                "adapter": {"base_model": str(base), "trained": True},
            },
        }
        directory = RunDirectory(RUN, str(home))
        directory.create(node="a", keeper=True)
        record = Record(directory, job, ["a"])
        done = Finish(directory, job, record, lambda: True, Output(job))
        assert run_out(done.open_output())
        write_adapter(output)
        return done, record

    return make


def ids(record: Record) -> set[str]:
    return {finding["id"] for finding in record.state_now["findings"] if finding["verdict"] != "ok"}


def test_an_adapter_that_changes_the_model_is_a_success(finish) -> None:
    done, record = finish(
        '{"changed": true, "max_difference": 0.5, "loaded": {"missing": [], "unexpected": []}}'
    )
    assert run_out(done.verify()) == "succeeded"
    assert record.state_now["adapter"]["changed"] is True
    assert "adapter-without-effect" not in ids(record)


def test_an_adapter_without_effect_fails_the_run(finish) -> None:
    done, record = finish('{"changed": false, "max_difference": 0.0, "loaded": {}}', code=1)
    assert run_out(done.verify()) == "failed"
    assert "adapter-without-effect" in ids(record)


def test_an_adapter_that_fits_in_part_fails_the_run(finish) -> None:
    done, record = finish(
        '{"changed": true, "loaded": {"missing": ["layers.1.q_proj"], "unexpected": []}}', code=1
    )
    assert run_out(done.verify()) == "failed"
    assert "adapter-does-not-fit" in ids(record)


@pytest.mark.parametrize("answer", ["Killed", "", '{"error": "out of memory"}'])
def test_a_proof_that_could_not_be_made_is_unknown_and_not_fine(finish, answer: str) -> None:
    done, record = finish(answer, code=1)
    assert run_out(done.verify()) == "succeeded"
    assert record.state_now["adapter"]["changed"] is None
    assert "adapter-unproved" in ids(record)


def test_a_broken_adapter_fails_the_run_and_is_not_loaded(finish) -> None:
    done, record = finish('{"changed": true, "loaded": {}}')
    weights = Path(done.output_dir) / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert run_out(done.verify()) == "failed"
    assert record.state_now["adapter"]["whole"] is False
