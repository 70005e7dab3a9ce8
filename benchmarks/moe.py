"""One module an expert under ZeRO-3: the same training with our leaf modules and without, text after text.

transformers 4.52.4 calls an expert only where a token goes to it. Two ranks whose tokens go to different experts then
gather different parameters, and wait for each other forever; `allranks.worker` marks the blocks of experts as leaf
modules, which are gathered whole. `TRIES=3` tries it with fewer.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from allranks.node import bundle

TITLE = "Separate experts under ZeRO-3: with leaf modules and without"
ON_REQUEST = True
ROOT = Path(__file__).resolve().parent.parent
LEGACY = ROOT / ".venvs" / "legacy"
MODEL = ROOT / ".cache" / "tiny-deepseek-v3" / "model"
TRIES = int(os.environ.get("TRIES", "50"))
WITHOUT = 5
FACTOR = 5
RESULTS = Path(os.environ.get("RESULTS", str(ROOT / ".cache" / "moe.jsonl")))
LIMIT_SECONDS = 120.0
STEPS = 8
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def measure() -> str:
    if not (LEGACY / "torch_extensions").exists() or not MODEL.exists():
        raise RuntimeError(
            "scripts/setup.sh --legacy and examples/make_tiny.py .cache/tiny-deepseek-v3 come first"
        )
    with tempfile.TemporaryDirectory(prefix="moe-") as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(built := bundle.build())
        code = hashlib.sha256(built).hexdigest()[:12]
        ours = [known_or_tried(folder, code, seed, True, LIMIT_SECONDS) for seed in range(TRIES)]
        ended = [one["seconds"] for one in ours if one["end"] == "all steps"]
        limit = FACTOR * statistics.median(ended or [LIMIT_SECONDS / FACTOR])
        without = [known_or_tried(folder, code, seed, False, limit) for seed in range(min(WITHOUT, TRIES))]
    if not ended:
        raise RuntimeError(f"none came to its end: {RESULTS}")
    ends = Counter(one["end"] for one in without)
    told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    return (
        f"Two ranks, gloo, transformers 4.52.4, DeepSpeed 0.16.9, the tiny DeepSeek-V3, {STEPS} steps, each time "
        f"another random text. With `allranks.worker`: **{len(ended)} of {TRIES}** came to their end (aim: all), "
        f"median {statistics.median(ended):.1f} s, longest {max(ended):.1f} s. The first {len(without)} of these texts "
        f"without it, same script: {told} (*hung*: not at its end after {FACTOR} times the median; *aborted*: the "
        "ranks' gathers met with different sizes, and gloo ended one)."
    )


def known_or_tried(folder: Path, code: str, seed: int, told: bool, limit: float) -> dict[str, Any]:
    """One training: `code` (of allranks' own, by digest), `seed`, `ours`, `end` and `seconds`, a line of RESULTS."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    for kept in map(json.loads, lines):
        if (kept.get("code"), kept["seed"], kept["ours"]) == (code, seed, told):
            return kept
    end, seconds = one(folder, seed, told, limit)
    kept = {"code": code, "seed": seed, "ours": told, "end": end, "seconds": round(seconds, 1)}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(kept) + "\n")
    print(kept, file=sys.stderr, flush=True)
    return kept


def one(folder: Path, seed: int, told: bool, limit: float) -> tuple[str, float]:
    """How a training ended, and after how many seconds. Raises RuntimeError where ours fails in another way."""
    source = random.Random(seed)
    text = folder / "text"
    text.write_text(" ".join("".join(source.choices(LETTERS, k=source.randint(1, 9))) for _ in range(4000)))
    argv = [str(LEGACY / "bin" / "python"), "-m", "torch.distributed.run", "--nproc-per-node=2"]
    argv += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
    argv += [str(ROOT / "examples" / "plain_deepspeed.py"), "--model", str(MODEL), "--text", str(text)]
    argv += ["--output", str(folder / f"{seed}-{told}")]
    argv += ["--steps", str(STEPS), "--micro-batch", "1", "--length", "8"]
    began = time.monotonic()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment(folder, told), cwd=folder, stdout=log, stderr=log)
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                process.terminate()  # torchrun ends its ranks, which are in sessions of their own
                process.wait(timeout=LIMIT_SECONDS)
    seconds = time.monotonic() - began
    said = (folder / "log").read_text(errors="replace")
    if code is None:
        return "hung", seconds
    if code == 0 and f"step {STEPS} of {STEPS}" in said:
        return "all steps", seconds
    if told or "SIGABRT" not in said:
        raise RuntimeError(f"seed {seed}: exit code {code}: {said[-2000:]}")
    return "aborted", seconds


def environment(folder: Path, told: bool) -> dict[str, str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": str(LEGACY / "torch_extensions")}
    env["PATH"] = os.pathsep.join([str(LEGACY / "bin"), env["PATH"]])
    if told:
        places = {name: str(folder) for name in ("ALLRANKS_RANKS_DIR", "ALLRANKS_STACKS_DIR")}
        env.update(
            PYTHONPATH=str(folder / "bundle.zip"), ALLRANKS_RUN_ID="bench", ALLRANKS_NODE="node-0", **places
        )
        env.update(ALLRANKS_LOGS_DIR="", ALLRANKS_BEAT_SECONDS="1.0")
    return env


if __name__ == "__main__":
    print(measure())
