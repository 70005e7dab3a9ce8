"""`run --smoke` and `run --debug`: what they set, who wins, and which rung is proposed next."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from allranks import spec
from allranks.cli import run_modes
from allranks.core import BadInput

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LARGE = str(EXAMPLES / "deepseek-v3-24xa100.yaml")

NOT_TYPED = {"command": None, "nodes": None, "gpus": None, "cpu": False}


def options(file: str = LARGE, *sets: str, smoke: bool = False, debug: bool = False) -> argparse.Namespace:
    return argparse.Namespace(file=file, sets=list(sets), accept=[], smoke=smoke, debug=debug, **NOT_TYPED)


def test_a_smoke_run_is_short_and_careful() -> None:
    asked = options(smoke=True)
    run_modes.set_for(asked)
    run = spec.load(LARGE, sets=asked.sets)
    assert run.train.arguments["max_steps"] == run_modes.SMOKE_STEPS
    assert (run.deepspeed, run.network.fabric) == ("zero3-offload", "tcp")
    smoke, next_one = (
        run_modes.bucket(run_modes.planned_for(asked, sets)) for sets, _ in run_modes.RUNGS[:2]
    )
    assert smoke is not None and next_one is not None and smoke < next_one


def test_what_the_user_sets_wins() -> None:
    asked = options(LARGE, "train.llamafactory.max_steps=2", "env.NCCL_DEBUG=TRACE", smoke=True, debug=True)
    run_modes.set_for(asked)
    run = spec.load(LARGE, sets=asked.sets)
    assert run.train.arguments["max_steps"] == 2
    assert run.env["NCCL_DEBUG"] == "TRACE" and run.env["TORCH_DISTRIBUTED_DEBUG"] == "DETAIL"


def test_without_a_gpu_nothing_is_offloaded() -> None:
    asked = options(str(EXAMPLES / "tiny-deepseek-v3.yaml"), smoke=True)
    run_modes.set_for(asked)
    assert spec.load(asked.file, sets=asked.sets).deepspeed == "auto"


def test_a_script_of_ones_own_counts_its_own_steps() -> None:
    with pytest.raises(BadInput, match=r"--smoke with train\.command"):
        run_modes.set_for(options(str(EXAMPLES / "plain-deepspeed.yaml"), smoke=True))


def test_the_next_rung_is_the_first_one_that_fits() -> None:
    asked = options(smoke=True)
    run_modes.set_for(asked)
    lines = run_modes.next_rung(asked, {"state": "succeeded"})
    assert lines[0] == f"next  allranks run --set deepspeed=zero3 --set network.fabric=tcp {LARGE}"
    assert "GiB per GPU" in lines[1] and "buckets of 500 M elements instead of 200 M" in lines[1]
    assert "s on 100 Gb Ethernet" in lines[1] and "InfiniBand" not in lines[1]
    assert "the smoke run failed" in run_modes.next_rung(asked, {"state": "failed"})[0]
