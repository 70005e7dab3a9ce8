"""Experts in lockstep, or in slices, under ZeRO-3: the leaf's losses, a few experts whole at a time, and no rank that
waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.plan.gather import replay
from allranks.plan.zero import Zero
from allranks.worker import lockstep
from tests.worker.lockstep_worker_sizes import EXPERT_ELEMENTS, EXPERTS, steps_of

WORKER = Path(__file__).parent / "lockstep_worker.py"
LEGACY = Path(__file__).resolve().parents[2] / ".venvs" / "legacy"


@pytest.mark.parametrize(
    ("value", "at_once"),
    [
        ("lockstep:8", 8),
        ("lockstep:1", 1),
        ("leaf", 0),
        ("", 0),
        (None, 0),
        ("lockstep:", 0),
        ("lockstep:x", 0),
    ],
)
def test_what_the_variable_asks_for(value, at_once):
    assert lockstep.asked(value) == at_once


def torchrun(root: Path, out: Path, steps: int, cases: list[str], python: str = sys.executable) -> list[dict]:
    """What two ranks saw, whose texts differ."""
    binaries = Path(python).parent
    env = dict(os.environ, PYTHONPATH=str(root / "src"), OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    env["PATH"] = os.pathsep.join([str(binaries), env["PATH"]])
    extensions = binaries.parent / "torch_extensions"  # each environment has its own compiled operators
    env["TORCH_EXTENSIONS_DIR"] = str(next(extensions.glob("py3*"), extensions))
    command = [python, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=127.0.0.1:0", "--log-dir", str(out / "torchrun")]
    command += [str(WORKER), str(out), str(steps), "0:1", *cases]
    done = subprocess.run(command, env=env, cwd=out, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in (0, 1)]


def same(ranks: list[dict], kind: str, checkpointing: str) -> None:
    """Losses of every step and what was trained agree; in lockstep no more than a few groups of four are whole."""
    for found in ranks:
        leaf, ours = found[f"{kind}/leaf/{checkpointing}"][0], found[f"{kind}/lockstep:4/{checkpointing}"][0]
        assert ours["evaluated"] == pytest.approx(leaf["evaluated"], abs=2e-3)
        assert ours["losses"] == pytest.approx(leaf["losses"], abs=2e-3)
        assert ours["trained"] == pytest.approx(leaf["trained"], rel=1e-5)
        assert leaf["live"] >= EXPERTS * EXPERT_ELEMENTS
        assert 4 * EXPERT_ELEMENTS <= ours["live"] <= 13 * EXPERT_ELEMENTS
    assert (
        ranks[0][f"{kind}/leaf/{checkpointing}"][0]["losses"]
        != ranks[1][f"{kind}/leaf/{checkpointing}"][0]["losses"]
    )


def as_planned(ranks: list[dict], kind: str, checkpointing: str, number: int = 4) -> None:
    """The planner's replay of the coordinator gathers the bytes that were counted, and has as much whole at once."""
    kind_of, _, ahead = checkpointing.partition("/")
    sizes = (20_000, 9_000, 60_000) if ahead else (0, 0, 0)
    zero = Zero(stage=3, prefetch_bucket=sizes[0], max_reuse=sizes[1], max_live=sizes[2])
    for way, at_once in (("leaf", 0), (f"lockstep:{number}", number)):
        planned = replay(steps_of(kind, at_once), zero, len(ranks), kind_of, holds_recomputed=True)
        seen = ranks[0][f"{kind}/{way}/{checkpointing}"][0]
        assert (seen["gathered"], 2 * seen["live"]) == (planned.received, planned.peak), way


KINDS = [("shared", "none"), ("bare", "non-reentrant/ahead"), ("experts-train", "reentrant")]


@pytest.mark.training
@pytest.mark.timeout(400)
def test_the_losses_are_the_leafs_and_a_few_experts_are_whole_at_a_time(root, tmp_path):
    cases = [f"{kind}/{way}/{check}" for kind, check in KINDS for way in ("leaf", "lockstep:4")]
    ranks = torchrun(root, tmp_path, 4, [*cases, "disordered/lockstep:4/none"])
    for kind, checkpointing in KINDS:
        same(ranks, kind, checkpointing)
        as_planned(ranks, kind, checkpointing)
    assert ranks[0]["shared/lockstep:4/none"][0]["note"].startswith(
        "Routed: experts in lockstep, 4 at a time."
    )
    error = ranks[0]["disordered/lockstep:4/none"][0]["error"]
    assert error.startswith("allranks: Routed called expert ") and "train.experts: leaf" in error


@pytest.mark.training
@pytest.mark.timeout(400)
def test_fused_experts_in_slices_have_the_losses_of_whole_ones(root, tmp_path):
    """With five at a time, one slice lies on both ranks. The fused block of the test calls its activation once for each
    expert with tokens, so without slices it needs to be a leaf."""
    checks = ("none", "non-reentrant", "reentrant")
    cases = [f"fused/{way}/{check}" for check in checks for way in ("leaf", "lockstep:5")]
    ranks = torchrun(root, tmp_path, 4, [*cases, "deepseek/leaf/none", "deepseek/lockstep:5/none"])
    for found in ranks:
        for kind, check in [*(("fused", check) for check in checks), ("deepseek", "none")]:
            whole, ours = found[f"{kind}/leaf/{check}"][0], found[f"{kind}/lockstep:5/{check}"][0]
            assert ours["losses"] == pytest.approx(whole["losses"], abs=2e-3)
            assert ours["evaluated"] == pytest.approx(whole["evaluated"], abs=2e-3)
            assert ours["trained"] == pytest.approx(whole["trained"], rel=1e-3)
            assert whole["live"] >= EXPERTS * EXPERT_ELEMENTS
            assert 10 * EXPERT_ELEMENTS <= ours["live"] < whole["live"] / 2  # two slices and what is beside
            assert ours["note"].endswith(": fused experts in slices, 5 at a time.")
    assert ranks[0][cases[0]][0]["losses"] != ranks[1][cases[0]][0]["losses"]
    for check in checks:
        as_planned(ranks, "fused", check, 5)


@pytest.mark.legacy
@pytest.mark.seldom
@pytest.mark.training
@pytest.mark.timeout(400)
@pytest.mark.skipif(not (LEGACY / "torch_extensions").exists(), reason="scripts/setup.sh --legacy makes it")
def test_deepseeks_own_block_of_transformers_4(root, tmp_path):
    cases = [f"deepseek/{way}/{check}" for check in ("none", "reentrant") for way in ("leaf", "lockstep:4")]
    ranks = torchrun(root, tmp_path, 4, cases, str(LEGACY / "bin" / "python"))
    same(ranks, "deepseek", "none")
    same(ranks, "deepseek", "reentrant")
