"""The installed DeepSpeed still gathers as the plan says: one real run of each kind of checkpointing, counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.plan.families import describe
from allranks.plan.gather import NON_REENTRANT, REENTRANT, replay
from allranks.plan.lora import Lora, trained_by_lora
from allranks.plan.steps import steps_of
from allranks.plan.versions import Versions, parse
from allranks.plan.zero import Zero

pytestmark = pytest.mark.training

HERE = Path(__file__).parent
WANTED = json.loads((HERE / "data" / "gathered.json").read_text())["models"]["deepseek_v3"]
ZERO = {
    "stage": 3,
    "overlap_comm": False,
    "contiguous_gradients": True,
    "reduce_bucket_size": 1_000_000,
    "stage3_prefetch_bucket_size": 20_000,
    "stage3_param_persistence_threshold": 100,
    "stage3_max_live_parameters": 60_000,
    "stage3_max_reuse_distance": 20_000,
}


def counted(reentrant: bool, folder: Path) -> dict[str, int]:
    job = {
        **WANTED,
        "leaf": "DeepseekV3MoE",
        "reentrant": reentrant,
        "deepspeed": {
            "train_micro_batch_size_per_gpu": 1,
            "bf16": {"enabled": True},
            "zero_allow_untested_optimizer": True,
            "zero_optimization": ZERO,
        },
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=127.0.0.1:0", "--log-dir", str(folder)]  # torchrun takes a port that is free
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        [*command, str(HERE / "counting_rank.py"), json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    line = next((row for row in done.stdout.splitlines() if row.startswith("COUNTED ")), None)
    assert line is not None, done.stderr[-3000:]
    return json.loads(line.removeprefix("COUNTED "))


@pytest.mark.parametrize(
    "reentrant",
    [pytest.param(False, id=NON_REENTRANT), pytest.param(True, id=REENTRANT, marks=pytest.mark.seldom)],
)
def test_the_installed_deepspeed_gathers_as_planned(reentrant: bool, tmp_path: Path) -> None:
    from importlib.metadata import version

    versions = Versions(None, parse(version("deepspeed")))
    model = describe(WANTED["config"])
    trained = trained_by_lora(model, Lora(rank=8, targets=tuple(WANTED["targets"])))
    widths = (2, 4 if versions.float32_adapters else 2)
    steps = steps_of(model, trained, 100, True, widths=widths)
    zero = Zero(stage=3, prefetch_bucket=20_000, max_reuse=20_000, max_live=60_000)
    kind = REENTRANT if reentrant else NON_REENTRANT
    planned = replay(steps, zero, 2, kind, versions.holds_recomputed)
    seen = counted(reentrant, tmp_path)
    assert seen["micro_step"] == planned.received
    assert seen["step"] - seen["micro_step"] == planned.persistent
    assert seen["reduce_scatter"] == 2 * trained.parameters
