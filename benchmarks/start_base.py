"""From the end of the checks to the first step with a base of 1.5 B parameters, against three torchruns by hand.

Both sides train the same LoRA with LLaMA-Factory on the same files, which are in the page cache; allranks with
`environment: {loader: own}`, and with LLaMA-Factory's default for gradient checkpointing, which the plan would change,
since the memory of one machine for three ranks is close. A rank's step is one text of two tokens, as in `restart_base`:
a processor without instructions for bf16 is so slow at the backward pass that the demo's four texts of 64 tokens would
take most of the time on both sides. `SIZE=tiny` tries it out, `KIND=moe` takes a base with routed experts, `ROUNDS=1`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks import _base_model, start_time

TITLE = "From the checks to the first step with a large base, against three torchruns by hand"
ON_REQUEST = True
TINY = start_time.ROOT / ".cache" / "tiny-deepseek-v3"
SIZE = os.environ.get("SIZE", "large")
KIND = os.environ.get("KIND", "dense")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
LIMIT_SECONDS = 900.0
STEPS, CUTOFF, BATCH = 3, 2, 1
IMPORTS = (
    "import torch.distributed.run",
    "import deepspeed, llamafactory.train.tuner, peft, torch, transformers",
)
"""What each torchrun and then each rank of either side imports."""


def measure() -> str:
    with tempfile.TemporaryDirectory(prefix="start-base-", dir=os.environ.get("LOAD_FOLDER")) as name:
        folder = Path(name)
        parameters = _base_model.with_data(folder / "base", KIND, SIZE, TINY)
        run_file = written(folder)
        os.environ.update(
            LORA_TARGET=_base_model.TARGETS[KIND], STEPS=str(STEPS), CUTOFF=str(CUTOFF), BATCH=str(BATCH)
        )

        def pair() -> tuple[float, float, float, float, float]:
            begun: list[float] = []
            theirs = start_time.by_hand(folder / "base", LIMIT_SECONDS, begun)
            mine, checks = start_time.ours(run_file, LIMIT_SECONDS, begun)
            print(f"by hand {theirs:.2f} s, allranks {mine:.2f} s; {begun}", file=sys.stderr, flush=True)
            return theirs, mine, checks, begun[0], begun[1]

        pair()
        pairs = [pair() for _ in range(ROUNDS)]
    lines = [
        f"{KIND}, {parameters / 1e6:,.0f} M parameters, LoRA, three ranks on one machine, a text of {CUTOFF} tokens "
        "each.\n",
        "| round | by hand, s | allranks, s | ratio | until that step begins, s | its checks before that, s |",
        "|---|---|---|---|---|---|",
    ]
    for number, (theirs, mine, checks, before, own) in enumerate(pairs, 1):
        begin = f"{before:.1f} and {own:.1f} ({own / before:.2f})"
        lines.append(
            f"| {number} | {theirs:.2f} | {mine:.2f} | {mine / theirs:.3f} | {begin} | {checks:.2f} |"
        )
    ratio = statistics.median(mine / theirs for theirs, mine, *_ in pairs)
    begin = statistics.median(own / before for *_, before, own in pairs)
    lines.append(
        f"\nMedian ratio **{ratio:.3f}** (aim ≤ 0.5), after one round of warm-up; until that step begins "
        f"**{begin:.2f}**, by transformers' line before it. Both sides compute it on the same cores."
    )
    lines.append(f"Three of each at once only import their libraries for {imports():.1f} s.")
    return "\n".join(lines)


def imports() -> float:
    """Seconds that three torchruns and then three ranks need for their imports alone, which no start can avoid."""
    begin = time.monotonic()
    for code in IMPORTS:
        argv = [sys.executable, "-c", f"import gc; gc.disable(); {code}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = [
            subprocess.Popen(argv, env={**os.environ, "OMP_NUM_THREADS": "1"}, **quiet) for _ in range(3)
        ]
        if any(process.wait(LIMIT_SECONDS) for process in started):
            raise RuntimeError(f"these imports failed: {code}")
    return time.monotonic() - begin


def written(folder: Path) -> Path:
    """The example's run file with this base, and the loader that reads a rank's own bytes."""
    run = yaml.safe_load(start_time.RUN_FILE.read_text())
    run["environment"] = {"loader": "own"}
    run["accept"] = [
        "host-memory"
    ]  # three ranks on one machine of 24 GiB: it is close, and ends after three steps
    run["train"]["llamafactory"].update(
        model_name_or_path=str(folder / "base" / "model"),
        dataset_dir=str(folder / "base" / "data"),
        lora_target=_base_model.TARGETS[KIND],
        max_steps=STEPS,
        cutoff_len=CUTOFF,
        per_device_train_batch_size=BATCH,
        use_reentrant_gc=True,
    )
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(run, sort_keys=False))
    return path


if __name__ == "__main__":
    print(measure())
