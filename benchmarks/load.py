"""`from_pretrained` under ZeRO-3: each rank its own bytes, against transformers' own way, in the same run.

Three ranks on gloo, a dense model and one with routed experts, their files in the page cache. Each rank's part of each
parameter must be the same bit for bit. `SIZE=large`: 1.5 B parameters, `SIZE=tiny`: to try it out; `ROUNDS=1`;
`KINDS=dense`; `ENVIRONMENTS=.venv`: without transformers 4.52, which `scripts/setup.sh --legacy` installs.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from allranks.core import extensions
from allranks.node import bundle
from benchmarks import _base_model

TITLE = "Loading the base model under ZeRO-3, against transformers' own way"
ROOT = Path(__file__).resolve().parent.parent
RANKS = 3
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SIZE = os.environ.get("SIZE", "small")
KINDS = os.environ.get("KINDS", "dense moe").split()
ENVIRONMENTS = os.environ.get("ENVIRONMENTS", ".venv .venvs/legacy").split()
PYTHONS = [
    sys.executable if one == ".venv" else str(ROOT / one / "bin" / "python")
    for one in ENVIRONMENTS
    if one == ".venv" or (ROOT / one / "torch_extensions").exists()
]
LIMIT_SECONDS = 600
MiB = 1 << 20

AIMS = {("5", "moe"): 15, ("5", "dense"): 12, ("4", "moe"): 5, ("4", "dense"): 5}
"""How many times faster than stock, by transformers' major version."""


def measure() -> str:
    parts = []
    with tempfile.TemporaryDirectory(prefix="load-", dir=os.environ.get("LOAD_FOLDER")) as name:
        folder = Path(name)
        (folder / "bundle.zip").write_bytes(bundle.build())
        for kind in KINDS:
            parameters = make(folder, kind)
            size = sum(file.stat().st_size for file in (folder / kind).glob("*.safetensors"))
            needs_memory(kind, size)
            for python in PYTHONS:
                rounds = [{way: load(folder, kind, way, python) for way in order(n)} for n in range(ROUNDS)]
                for one in rounds:
                    check(one["stock"], one["own"])
                parts.append(table(kind, python, parameters, size, rounds))
            shutil.rmtree(folder / kind)
    return (
        f"{RANKS} ranks, gloo, files in the page cache, median of {ROUNDS} rounds in alternating order. Every rank's "
        "part of every parameter, and every buffer, was the same bit for bit in each round. Memory is the growth of a "
        "rank's peak (`ru_maxrss`) from right before `from_pretrained`; bytes in collectives are those of the tensors "
        "that a rank gives to or gets from broadcasts and gathers. The stock way maps the files, and what it reads is "
        "not counted.\n\n" + "\n\n".join(parts)
    )


def needs_memory(kind: str, size: int) -> None:
    """Stock, with fused experts, each rank joins all of them in its own memory."""
    need = (2.2 * RANKS if kind == "moe" else 1.2 * RANKS) * size + size
    if need > _base_model.available_bytes():
        has = _base_model.available_bytes() / _base_model.GiB
        raise RuntimeError(
            f"{kind} needs {need / _base_model.GiB:.1f} GiB of memory, and {has:.1f} GiB are available"
        )


def order(number: int) -> tuple[str, str]:
    return ("stock", "own") if number % 2 == 0 else ("own", "stock")


def version(python: str, package: str) -> str:
    words = [python, "-c", f"from importlib.metadata import version; print(version({package!r}))"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def make(folder: Path, kind: str, size: str = SIZE) -> int:
    return _base_model.make(folder / kind, kind, size)


def operators(python: str) -> str:
    """Where this environment's operators are compiled."""
    if python == sys.executable:
        return (
            os.environ.get(extensions.VARIABLE)
            or extensions.folder(str(ROOT / ".cache"))
            or str(ROOT / ".cache")
        )
    folder = Path(python).parent.parent / "torch_extensions"
    return str(next(folder.glob("py3*"), folder))


def load(
    folder: Path, kind: str, loader: str, python: str = sys.executable, **more: str
) -> list[dict[str, Any]]:
    """What each rank told of one loading. `more`: further variables."""
    out = Path(tempfile.mkdtemp(dir=folder))
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(folder / "bundle.zip"),
        "CUDA_VISIBLE_DEVICES": "",
    }
    env["PATH"] = os.pathsep.join([str(Path(python).parent), env["PATH"]])
    env["TORCH_EXTENSIONS_DIR"] = operators(python)
    env.update(
        ALLRANKS_RUN_ID="bench", ALLRANKS_NODE="node-0", ALLRANKS_RANKS_DIR=str(out), ALLRANKS_LOGS_DIR=""
    )
    env.update(ALLRANKS_LOADER=loader, HF_HUB_OFFLINE="1", **more)
    argv = [python, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", "--rdzv-backend=c10d"]
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


def table(kind: str, python: str, parameters: int, size: int, rounds: list[dict[str, Any]]) -> str:
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
    transformers = version(python, "transformers")
    stack = f"transformers {transformers}, DeepSpeed {version(python, 'deepspeed')}"
    lines = [f"| {kind}, {parameters / 1e6:,.0f} M parameters, {stack} | stock | own |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    read = middle("own", "read_bytes", sum) / size
    return "\n".join(lines) + (
        f"\n\nStock takes **{statistics.median(ratios):.1f} times** as long ({ratios[0]:.1f} to {ratios[-1]:.1f}; aim "
        f"with 1.5 B parameters: {AIMS[transformers[0], kind]}). "
        f"All ranks together read {read:.3f} of the model's {size / MiB:,.0f} MiB; "
        f"a rank's shard is {shard / MiB:,.0f} MiB."
    )


if __name__ == "__main__":
    print(measure())
