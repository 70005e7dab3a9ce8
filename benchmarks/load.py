"""`from_pretrained` under ZeRO-3: each rank its own bytes, against transformers' own way, in the same run.

Three ranks on gloo, a dense model and one with fused experts, their files in the page cache. Each rank's part of each
parameter must be the same bit for bit. `ROUNDS=1`; `SIZE=large` for a dense model of 1.5 B parameters; `KINDS=dense`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from allranks.core import extensions
from allranks.node import bundle

TITLE = "Loading the base model under ZeRO-3, against transformers' own way"
ROOT = Path(__file__).resolve().parent.parent
RANKS = 3
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SIZE = os.environ.get("SIZE", "small")
KINDS = os.environ.get("KINDS", "dense moe" if SIZE == "small" else "dense").split()
LIMIT_SECONDS = 600
MiB = 1 << 20

MAKE = """
import sys, torch
from transformers import AutoModelForCausalLM, DeepseekV3Config, LlamaConfig
from transformers.initialization import no_init_weights
kind, size, out = sys.argv[1:]
if kind == "dense":
    large = size == "large"
    config = LlamaConfig(
        hidden_size=2048 if large else 1024, intermediate_size=5632 if large else 2816,
        num_hidden_layers=30 if large else 24, num_attention_heads=16, num_key_value_heads=8, vocab_size=32000,
    )
else:
    config = DeepseekV3Config(
        hidden_size=1024, intermediate_size=2816, moe_intermediate_size=512, num_hidden_layers=9,
        num_attention_heads=16, num_key_value_heads=16, n_routed_experts=28, num_experts_per_tok=2, n_group=2,
        topk_group=1, first_k_dense_replace=1, q_lora_rank=256, kv_lora_rank=128, qk_nope_head_dim=64,
        qk_rope_head_dim=32, v_head_dim=64, vocab_size=16000,
    )
with no_init_weights():
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
generator = torch.Generator().manual_seed(0)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_(0, 0.02, generator=generator)
model.save_pretrained(out, max_shard_size="1GB")
print("PARAMETERS", sum(one.numel() for one in model.parameters()))
"""


def measure() -> str:
    parts = []
    with tempfile.TemporaryDirectory(prefix="load-", dir=os.environ.get("LOAD_FOLDER")) as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(bundle.build())
        for kind in KINDS:
            parameters = make(folder, kind)
            size = sum(file.stat().st_size for file in (folder / kind).glob("*.safetensors"))
            rounds = [{loader: load(folder, kind, loader) for loader in order(n)} for n in range(ROUNDS)]
            for one in rounds:
                check(one["stock"], one["own"])
            parts.append(table(kind, parameters, size, rounds))
    return (
        f"{RANKS} ranks, gloo, transformers {version('transformers')}, DeepSpeed {version('deepspeed')}, files in the "
        f"page cache, median of {ROUNDS} rounds in alternating order. Every rank's part of every parameter, and every "
        "buffer, was the same bit for bit in each round. Memory is the growth of a rank's peak (`ru_maxrss`) from "
        "right before `from_pretrained`; bytes in collectives are those of the tensors that a rank gives to or gets "
        "from broadcasts and gathers. The stock way maps the files, and what it reads is not counted.\n\n"
        + "\n\n".join(parts)
    )


def order(number: int) -> tuple[str, str]:
    return ("stock", "own") if number % 2 == 0 else ("own", "stock")


def version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def make(folder: Path, kind: str, size: str = SIZE) -> int:
    argv = [sys.executable, "-c", MAKE, kind, size, str(folder / kind)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return int(done.stdout.split("PARAMETERS")[1])


def load(folder: Path, kind: str, loader: str, **more: str) -> list[dict[str, Any]]:
    """What each rank told of one loading. `more`: further variables."""
    out = Path(tempfile.mkdtemp(dir=folder))
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(folder / "bundle.zip"),
        "CUDA_VISIBLE_DEVICES": "",
    }
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env["TORCH_EXTENSIONS_DIR"] = extensions.folder(str(ROOT / ".cache")) or str(ROOT / ".cache")
    env.update(
        ALLRANKS_RUN_ID="bench", ALLRANKS_NODE="node-0", ALLRANKS_RANKS_DIR=str(out), ALLRANKS_LOGS_DIR=""
    )
    env.update(ALLRANKS_LOADER=loader, HF_HUB_OFFLINE="1", **more)
    argv = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", "--rdzv-backend=c10d"]
    argv += ["--rdzv-endpoint=127.0.0.1:0", str(ROOT / "benchmarks" / "_load_rank.py")]
    argv += [str(folder / kind), str(out)]
    with (out / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
        try:
            code = process.wait(timeout=LIMIT_SECONDS)
        finally:
            if process.poll() is None:
                process.terminate()  # torchrun ends its ranks
                process.wait(timeout=60)
    told = [json.loads((out / f"rank-{n}.json").read_text()) for n in range(RANKS)] if code == 0 else []
    if code or any(one["error"] for one in told):
        raise RuntimeError((out / "log").read_text(errors="replace")[-2000:])
    print(kind, loader, f"{max(one['seconds'] for one in told):.2f} s", file=sys.stderr, flush=True)
    return told


def check(stock: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    for one, other in zip(stock, own, strict=True):
        if one["digests"] != other["digests"] or one["buffers"] != other["buffers"]:
            raise RuntimeError("the ways give different values")
        if other["sent_bytes"] > one["sent_bytes"] / 100:
            raise RuntimeError("the own way sent the model")


def table(kind: str, parameters: int, size: int, rounds: list[dict[str, Any]]) -> str:
    def middle(loader: str, what: str, of: Any = max) -> float:
        return statistics.median(of(one[what] for one in each[loader]) for each in rounds)

    stock, own = middle("stock", "seconds"), middle("own", "seconds")
    ratios = sorted(
        max(one["seconds"] for one in each["stock"]) / max(one["seconds"] for one in each["own"])
        for each in rounds
    )
    shard = middle("own", "shard_bytes")
    rows = [
        ("`from_pretrained`, s", f"{stock:.2f}", f"{own:.2f}"),
        ("peak memory of a rank, MiB", f"+{middle('stock', 'peak_bytes') / MiB:,.0f}",
         f"+{middle('own', 'peak_bytes') / MiB:,.0f}"),
        ("bytes in collectives, a rank, MiB", f"{middle('stock', 'sent_bytes') / MiB:,.0f}",
         f"{middle('own', 'sent_bytes') / MiB:,.3f}"),
        ("read by all ranks, MiB", "–", f"{middle('own', 'read_bytes', sum) / MiB:,.0f}"),
    ]  # fmt: skip
    lines = [f"| {kind}, {parameters / 1e6:,.0f} M parameters | stock | own |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    read = middle("own", "read_bytes", sum) / size
    return "\n".join(lines) + (
        f"\n\nStock takes **{statistics.median(ratios):.1f} times** as long ({ratios[0]:.1f} to {ratios[-1]:.1f}). "
        f"All ranks together read {read:.3f} of the model's {size / MiB:,.0f} MiB; "
        f"a rank's shard is {shard / MiB:,.0f} MiB."
    )


if __name__ == "__main__":
    print(measure())
