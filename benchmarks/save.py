"""Saves of an adapter under ZeRO-3: stock transformers against ours, on transformers 5 and 4.52.4.

Both save the same weights in one process, in turns. `SMALL=1` tries it on a model of a few million parameters.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._operators import operators

TITLE = "Saves: an adapter under ZeRO-3 against stock's"
ROOT = Path(__file__).resolve().parent.parent
RANK = Path(__file__).parent / "_save_rank.py"
PYTHONS = (Path(sys.executable), ROOT / ".venvs" / "legacy" / "bin" / "python")
SMALL = os.environ.get("SMALL") == "1"
SIZE = ("64", "8") if SMALL else ("512", "64")
SAVES = 2 if SMALL else 5
LIMIT_SECONDS = 1800

SEEDS = {"trainable": 97_006_592, "ranks": 24, "nodes": 3, "stock_bytes_a_rank": 53e9}
"""The seeds' run: LoRA r=16 on 671B, 3 nodes of 8 ranks, and what stock wrote there for each rank."""


def measure() -> str:
    lines = [
        "| transformers | | time | against stock | bytes moved | memory's rise | on disk |",
        "|---|---|---|---|---|---|---|",
    ]
    heads = []
    for python in PYTHONS:
        if not python.exists():
            raise RuntimeError(f"{python} is not there: scripts/setup.sh --legacy makes it")
        found = run(python)
        if not found["equal"]:
            raise RuntimeError("stock's adapter and ours are not the same bytes")
        heads.append(f"transformers {found['transformers']} with DeepSpeed {found['deepspeed']}")
        lines += rows(found)
    return "\n".join([about(found, heads), "", *lines, "", computed()])


def about(found: dict, heads: list[str]) -> str:
    return (
        f"A DeepSeek-V3-shaped MoE of {found['parameters']:,} parameters, LoRA r=16, two ranks under gloo on one "
        f"machine, ZeRO-3, bf16; {SAVES} saves each way in turns, medians, rank 0's memory; the adapters are the same "
        f"bytes ({'; '.join(heads)}). Aims: time ≤ 1/20, bytes ≤ 1.2 × and memory ≤ 2 × the adapter. *Adapter*: what "
        "`save_only_model` keeps. *Resumable*: the whole checkpoint with master weights and Adam's two moments in "
        "float32, 6 × a bf16 adapter. *Bytes moved*: what all ranks together receive from others, counted at "
        "torch's own collectives. Stock leaves the state as each rank's shard. Ours is one file, by name and whole; a "
        "rank of the head's machine writes its part into it, and only ranks of other machines send theirs."
    )


def computed() -> str:
    """The seeds' run on 671B: what cannot be measured here."""
    trainable, ranks, nodes = SEEDS["trainable"], SEEDS["ranks"], SEEDS["nodes"]
    adapter, state = trainable * 2, trainable * 3 * 4
    ours, theirs = adapter + state, SEEDS["stock_bytes_a_rank"] * ranks
    sent = state * (nodes - 1) / nodes
    return (
        f"Computed for the seeds' run on 671B ({nodes} nodes, {ranks} ranks, bf16 adapter of "
        f"{adapter / 1e6:,.0f} MB): on disk ours **{ours / 1e9:.2f} GB** in one place, stock "
        f"{theirs / 1e9:,.0f} GB over {ranks} ranks (53 GB a rank, as they saw): 1/{theirs / ours:,.0f}. "
        f"To the head's disk go {sent / 1e6:,.0f} MB from the other machines "
        f"({sent / adapter:.1f} × the adapter): the price of a checkpoint that lies whole on one disk where no storage "
        "is shared; `save_only_model: true` has none of it."
    )


def rows(found: dict) -> list[str]:
    lines = []
    for kind, name in (("adapter", "adapter"), ("checkpoint", "resumable")):
        for way in ("stock", "ours"):
            one, size = found[way][kind], found[way][f"{kind}_bytes"]
            ratio = found["stock"][kind]["seconds"] / one["seconds"]
            moved = f"{one['moved'] / 2**20:,.1f} MiB ({one['moved'] / found['ours']['adapter_bytes']:,.2f} × adapter)"
            rise = f"{one['rise'] / 2**20:,.1f} MiB ({one['rise'] / found['ours']['adapter_bytes']:,.2f} ×)"
            lines.append(
                f"| {found['transformers']} | {name}, {way} | {one['seconds']:.3f} s | 1/{ratio:.1f} | {moved} | "
                f"{rise} | {size / 2**20:,.1f} MiB |"
            )
    return lines


def run(
    python: Path,
    size: tuple[str, str] = SIZE,
    saves: int = SAVES,
    ranks: int = 2,
    device: str = "cpu",
    limit: float = LIMIT_SECONDS,
) -> dict:
    with tempfile.TemporaryDirectory(prefix="save-") as folder:
        out = Path(folder)
        env = dict(
            os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=str(ROOT / "src"),
            OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", DEVICE=device, ALLRANKS_HOME=str(out / "home"),
            TORCH_EXTENSIONS_DIR=operators(python),
        )  # fmt: skip
        if device == "cpu":
            env["CUDA_VISIBLE_DEVICES"] = ""
        command = [
            str(python),
            "-m",
            "torch.distributed.run",
            f"--nproc-per-node={ranks}",
            "--rdzv-backend=c10d",
        ]
        command += ["--rdzv-endpoint=127.0.0.1:0", str(RANK), folder, *size, str(saves)]
        with open(out / "log", "wb") as log:
            process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
            try:
                code = process.wait(timeout=limit)
            finally:
                if (
                    process.poll() is None
                ):  # not reaped, so the number is still that of the session started above
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if code:
            raise RuntimeError((out / "log").read_text()[-3000:])
        return json.loads((out / "result.json").read_text())
