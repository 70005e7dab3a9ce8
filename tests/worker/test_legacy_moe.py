"""transformers 4.52.4 keeps one module an expert: under ZeRO-3 that needs leaf modules, and `inside` marks them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from allranks.worker import lockstep

ROOT = Path(__file__).resolve().parents[2]
LEGACY = ROOT / ".venvs" / "legacy"
TINY = ROOT / ".cache" / "tiny-deepseek-v3"

pytestmark = [
    pytest.mark.legacy,
    pytest.mark.seldom,
    pytest.mark.training,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (LEGACY / "torch_extensions").exists(), reason="scripts/setup.sh --legacy makes it"
    ),
    pytest.mark.skipif(not TINY.exists(), reason="examples/make_tiny.py .cache/tiny-deepseek-v3 makes it"),
]


def train(node, told: bool, experts: str = "leaf") -> tuple[str, bool]:
    """Eight ZeRO-3 steps on two ranks whose tokens go to different experts; their output, and whether they ended."""
    env = node.environment(RANK=None, LOCAL_RANK=None, WORLD_SIZE=None, OMP_NUM_THREADS="1")
    env[lockstep.VARIABLE] = experts
    env.update(HOME=os.environ["HOME"], TORCH_EXTENSIONS_DIR=str(LEGACY / "torch_extensions"))
    env["PATH"] = os.pathsep.join([str(LEGACY / "bin"), env["PATH"]])
    if not told:
        del env["ALLRANKS_RUN_ID"]
    argv = [str(LEGACY / "bin" / "python"), "-m", "torch.distributed.run", "--nproc-per-node=2"]
    argv += [
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=127.0.0.1:0",
        f"--log-dir={node.root / 'torchrun'}",
        str(ROOT / "examples" / "plain_deepspeed.py"),
    ]
    argv += ["--model", str(TINY / "model"), "--steps", "8", "--micro-batch", "1", "--length", "8"]
    with subprocess.Popen(
        argv, env=env, cwd=node.root / "work", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            # without us it hangs, and with us it takes half a minute, or more where others work too
            return process.communicate(timeout=300 if told else 120)[0], process.returncode == 0
        except subprocess.TimeoutExpired:
            process.terminate()
            return process.communicate(timeout=60)[0], False
        finally:
            process.terminate()


def test_separate_experts_train_with_our_leaf_modules(node):
    output, ended = train(node, told=True)
    assert ended, output[-2000:]
    settings = next(event["data"] for event in node.events() if event["kind"] == "settings")
    assert settings["notes"][0].startswith("DeepseekV3MoE: marked as ZeRO-3 leaf modules.")
    assert "step 8 of 8" in node.log()


def test_separate_experts_train_in_lockstep(node):
    """All weights train, those of the experts too."""
    output, ended = train(node, told=True, experts="lockstep:3")
    assert ended, output[-2000:]
    settings = next(event["data"] for event in node.events() if event["kind"] == "settings")
    assert settings["notes"][0].startswith("DeepseekV3MoE: experts in lockstep, 3 at a time.")
    assert "step 8 of 8" in node.log()


def test_separate_experts_do_not_train_without(node):
    output, ended = train(node, told=False)
    assert not ended and "step 8 of 8" not in output
