"""Experts whole and a few at a time: the same texts trained both ways on two ranks, loss by loss.

transformers 4.52.4's DeepSeek-V3 block with 32 experts, of which lockstep gathers two at a time, without checkpointing
and with the reentrant kind (this DeepSpeed cannot do the other with a frozen base); and a block of our own that skips
experts without tokens, with DeepSpeed 0.19 and the non-reentrant kind. transformers 5.6's DeepSeek-V3, whose experts
are fused, in slices of two. `TRIES=5` tries fewer texts; `KNOWN=1` trains none and tells what RESULTS holds of this
code.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TITLE = "Routed experts under ZeRO-3: in lockstep or in slices, against whole ones"
ON_REQUEST = True
ROOT = Path(__file__).resolve().parent.parent
WORKER = ROOT / "tests" / "worker" / "lockstep_worker.py"
TRIES = int(os.environ.get("TRIES", "50"))
RESULTS = Path(os.environ.get("RESULTS", str(ROOT / "benchmarks" / "results" / "lockstep.jsonl")))
STEPS, AT_ONCE, BATCH, LIMIT_SECONDS = 8, 2, 5, 400.0
KINDS = [
    # environment, case, which of ten texts
    (".venvs/legacy", "deepseek/{}/none", range(0, 5)),
    (".venvs/legacy", "deepseek/{}/reentrant", range(5, 8)),
    (".venv", "bare/{}/non-reentrant", range(8, 10)),
    (".venv", "deepseek/{}/non-reentrant", range(0, 10)),
]


def measure() -> str:
    if not (ROOT / ".venvs" / "legacy" / "torch_extensions").exists():
        raise RuntimeError("scripts/setup.sh --legacy comes first")
    parts = (
        "src/allranks/worker/lockstep.py",
        "src/allranks/worker/expert_slices.py",
        "src/allranks/worker/moe.py",
        "tests/worker/lockstep_worker.py",
    )
    code = hashlib.sha256(b"".join((ROOT / part).read_bytes() for part in parts)).hexdigest()[:12]
    rows = [f"| {head} |" for head in (" | ".join(HEADS), "|".join("---" for _ in HEADS))]
    ended, tried = 0, 0
    for environment, case, tens in KINDS:
        seeds = [seed for seed in range(TRIES) if seed % 10 in tens]
        found = trained(code, environment, case, seeds)
        tried += len(found)
        ended += sum(1 for one in found if one["ended"])
        rows.append(row(environment, case, [one for one in found if one["ended"]]))
    table = "\n".join(rows)
    return (
        f"Two ranks, gloo, each with random texts of its own; {STEPS} steps; 32 experts per layer, {AT_ONCE} at a "
        f"time; the base is frozen, attention trains. **{ended} of {tried}** texts came to their end both ways "
        "(aim: all).\n\n"
        f"{table}\n\nLive elements: the most of all parameters that were whole on a rank after a gather, with "
        "DeepSpeed's prefetching and reuse switched off. On so small a model the gathers are tiny and their "
        "number is what takes time; an expert of DeepSeek-V3 has 88 MB. Of slices two are whole at once. The losses of "
        "fused experts differ by rounding: the stock way sums a token's experts before it rounds to bf16."
    )


HEADS = (
    "what",
    "texts",
    "largest difference of a loss",
    "live elements, whole",
    "a few at a time",
    "ratio",
    "seconds, a few/whole",
)


def row(environment: str, case: str, found: list[dict[str, Any]]) -> str:
    if not found:
        return f"| {case.format('…')} | 0 | | | | | |"
    worst = max(one["difference"] for one in found)
    leaf, ours = max(one["leaf_live"] for one in found), max(one["live"] for one in found)
    slower = statistics.median(one["seconds"] / one["leaf_seconds"] for one in found)
    kind, _, checkpointing = case.split("/")
    fused = "transformers 5.6 (fused), " if kind == "deepseek" else ""
    stack = "transformers 4.52.4, DeepSpeed 0.16.9" if "legacy" in environment else f"{fused}DeepSpeed 0.19"
    return (
        f"| {kind}, checkpointing {checkpointing} ({stack}) | {len(found)} | {worst:.1g} | {leaf:,} | {ours:,} | "
        f"1/{leaf / ours:.1f} | {slower:.2f} |"
    )


def trained(code: str, environment: str, case: str, seeds: list[int]) -> list[dict[str, Any]]:
    """What is known of these texts; what is not is trained, a few texts in one start, and kept in RESULTS."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    known = {one["seed"]: one for one in map(json.loads, lines) if (one["code"], one["case"]) == (code, case)}
    wanted = [] if os.environ.get("KNOWN") else [seed for seed in seeds if seed not in known]
    while wanted:
        batch = [wanted.pop(0)]
        while wanted and wanted[0] == batch[-1] + 1 and len(batch) < BATCH:
            batch.append(wanted.pop(0))
        for one in started(environment, case, batch):
            known[one["seed"]] = {"code": code, "case": case, **one}
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps(known[one["seed"]]) + "\n")
            print(known[one["seed"]], file=sys.stderr, flush=True)
    return [known[seed] for seed in seeds if seed in known]


def started(environment: str, case: str, seeds: list[int]) -> list[dict[str, Any]]:
    """One torchrun: each text both ways. One that does not end in time counts for all its texts."""
    folder = ROOT / environment
    extensions = folder / "torch_extensions"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    env["PATH"] = os.pathsep.join([str(folder / "bin"), env["PATH"]])
    env["TORCH_EXTENSIONS_DIR"] = str(next(extensions.glob("py3*"), extensions))
    names = [case.format("leaf"), case.format(f"lockstep:{AT_ONCE}")]
    with tempfile.TemporaryDirectory(prefix="lockstep-") as out:
        argv = [str(folder / "bin" / "python"), "-m", "torch.distributed.run", "--nproc-per-node=2"]
        argv += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", str(WORKER), out, str(STEPS)]
        argv += [f"{seeds[0]}:{seeds[-1] + 1}", *names]
        with (Path(out) / "log").open("wb") as log:
            process = subprocess.Popen(argv, env=env, cwd=out, stdout=log, stderr=log)
            try:
                code = process.wait(timeout=LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    process.terminate()  # torchrun ends its ranks, which are in sessions of their own
                    process.wait(timeout=60)
        if code is None:
            return [{"seed": seed, "ended": False} for seed in seeds]
        if code:
            raise RuntimeError(
                f"{names}, texts {seeds}: {(Path(out) / 'log').read_text(errors='replace')[-3000:]}"
            )
        ranks = [json.loads((Path(out) / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    return [
        {"seed": seed, "ended": True, **compared([[rank[name][place] for name in names] for rank in ranks])}
        for place, seed in enumerate(seeds)
    ]


def compared(ranks: list[list[dict[str, Any]]]) -> dict[str, Any]:
    pairs = [(a, b) for leaf, ours in ranks for a, b in zip(leaf["losses"], ours["losses"], strict=True)]
    assert all(len(leaf["losses"]) == STEPS for leaf, _ in ranks)
    (leaf, ours), _ = ranks
    return {
        "difference": max(abs(a - b) for a, b in pairs),
        "leaf_live": max(leaf["live"] for leaf, _ in ranks),
        "live": max(ours["live"] for _, ours in ranks),
        "leaf_seconds": leaf["seconds"],
        "seconds": ours["seconds"],
    }


if __name__ == "__main__":
    print(measure())
