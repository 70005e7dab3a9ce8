"""How fast `allranks diagnose` reads large logs, beside ripgrep with the same texts on the same files.

    python -m benchmarks diagnose_speed
    DIAGNOSE_MB=50 python -m benchmarks diagnose_speed      # smaller
    ALLRANKS_LOGS=FOLDER[:FOLDER…] python -m benchmarks diagnose_speed

Writes logs of several kinds into a temporary folder: 24 files of each, 500 MB together, a hundredth of them
tracebacks. CPU time is that of the process and of its children, start included; the least of RUNS runs (3), the two
programs in turn. Both are held on one core. One row is without that: then we use a process on each core, and they
slow each other down. Our modules are compiled beforehand, as in an installed program.

With ALLRANKS_LOGS (`diagnose_corpus`), the files in `texts/` of these folders are one more kind: each log is another
program's, so hardly two of them have a line in common.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from allranks.diagnose.suspects import literals

TITLE = "Reading large logs"
FILES = 24
RUNS = int(os.environ.get("RUNS", "3"))
MB = int(os.environ.get("DIAGNOSE_MB", "500"))
PERIOD = 20_000
"""Lines after which a file repeats itself."""

WORDS = "alpha beta loader batch tensor gradient optimizer device memory process group kernel stream"
NAMES = WORDS.split()
BLOCKS = " ▏▎▍▌▋▊▉"


def bar(pick: random.Random, n: int) -> str:
    done = n % 1000
    drawn = "█" * (done // 100) + BLOCKS[done % 8]
    left = (
        f"{done // 60:02}:{done % 60:02}<{(1000 - done) // 60:02}:{done % 60:02}, {pick.random() * 9:.2f}it/s"
    )
    return f"{done // 10:3d}%|{drawn:10}| {done}/1000 [{left}]\r"


def failure(pick: random.Random, n: int) -> str:
    rank = n % 8
    frames = "".join(
        f'[rank{rank}]:   File "/srv/train.py", line {n % 900 + i}, in step\n'
        f"[rank{rank}]:     {pick.choice(NAMES)}(x)\n"
        for i in range(6)
    )
    return f"[rank{rank}]: Traceback (most recent call last):\n{frames}[rank{rank}]: KeyError: 'labels{n}'\n"


KINDS: dict[str, Callable[[random.Random, int], str]] = {
    "steps of eight ranks": lambda pick, n: (
        f"[2026-11-20 23:{n // 60 % 60:02}:{n % 60:02}] [rank{n % 8}] step {n} loss {pick.random() * 3:.4f} lr 1e-4\n"
    ),
    "steps of the Hugging Face Trainer": lambda pick, n: (
        f"{{'loss': {pick.random() * 3:.4f}, 'grad_norm': {pick.random()!r}, 'learning_rate': {pick.random() / 1e4!r}, "
        f"'epoch': {n / 1000:.2f}}}\n"
    ),
    "progress bars": bar,
    "NCCL INFO": lambda pick, n: (
        f"node-{n % 3}:{1000 + n % 8}:{2000 + n % 50} [{n % 8}] NCCL INFO Channel {n % 16:02}/0 : {n % 24}[{n % 8}] -> "
        f"{(n + 1) % 24}[{n % 8}] [send] via NET/Socket/0\n"
    ),
    "no two lines alike": lambda pick, n: (
        f"2026-11-20 23:27:{n % 60:02} {' '.join(pick.choice(NAMES) + str(pick.randrange(99)) for _ in range(10))}\n"
    ),
    "tracebacks of eight ranks": failure,
}


def written(folder: Path, make: Callable[[random.Random, int], str], size: int) -> None:
    """24 files of this kind, of `size` bytes each, with three contents."""
    folder.mkdir()
    picks = [random.Random(seed) for seed in range(3)]
    parts = ["".join(make(pick, n) for n in range(PERIOD)).encode() for pick in picks]
    for number in range(FILES):
        part = parts[number % len(parts)]
        with (folder / f"job-{number}.log").open("wb") as file:
            while file.tell() < size:
                file.write(part[: size - file.tell()])


def public(folder: Path) -> bool:
    """Copies the public logs into this folder, as `.log`. Returns whether there are any."""
    named = [Path(one) for one in os.environ.get("ALLRANKS_LOGS", "").split(":") if one]
    files = [file for one in named for file in sorted((one / "texts").iterdir())]
    folder.mkdir()
    for number, file in enumerate(files):
        shutil.copyfile(file, folder / f"{number}.log")
    return bool(files)


def cost(command: list[str], alone: bool = True) -> tuple[float, float]:
    """(seconds of CPU, MiB at most) of a command with all its children, on one core or on all."""
    code = (
        "import os, resource, subprocess, sys\n"
        f"if {alone}: os.sched_setaffinity(0, {{max(os.sched_getaffinity(0))}})\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "assert done.returncode in (0, 1, 3), done\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True, env=environment
    )
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


def row(name: str, folder: Path, texts: Path, alone: bool = True) -> str:
    ours = [sys.executable, "-m", "allranks.cli", "diagnose", "--json", str(folder)]
    grep = ["rg", "-j1", "-acF", "-f", str(texts), str(folder)]
    size = sum(file.stat().st_size for file in folder.rglob("*.log")) / 1e6
    spent = [(cost(ours, alone), cost(grep, alone)) for _ in range(RUNS)]
    seconds, memory = min(one[0] for one, _ in spent), max(one[1] for one, _ in spent)
    others = min(other[0] for _, other in spent)
    speeds = f"{size / seconds:,.0f} | {size / others:,.0f} | {others / seconds:.2f}"
    return f"| {name} | {size:,.0f} | {speeds} | {memory:,.0f} |"


def measure() -> str:
    if shutil.which("rg") is None:
        raise SystemExit("ripgrep is needed: apt-get install ripgrep")
    rows = ["| lines | MB | MB/s per core | ripgrep | ratio | MiB |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(prefix="allranks-speed-") as place:
        root = Path(place)
        os.environ["PYTHONPYCACHEPREFIX"] = str(root / "compiled")
        texts = root / "texts"
        texts.write_text("\n".join(literals()) + "\n", encoding="utf-8")
        cost([sys.executable, "-m", "allranks.cli", "diagnose", str(texts)])  # compiles the modules
        (root / "all").mkdir()
        for name, make in KINDS.items():
            folder = root / "all" / name.replace(" ", "-")
            share = 0.01 if make is failure else 0.99 / (len(KINDS) - 1)
            written(folder, make, int(share * MB * 1_000_000 / FILES))
            rows.append(row(name, folder, texts))
        rows.append(row("these six together", root / "all", texts))
        rows.append(row("these six, on all cores", root / "all", texts, alone=False))
        if public(root / "public"):
            rows.append(row("logs as public repositories have them", root / "public", texts))
    version = subprocess.run(["rg", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    rows.append(f"\n{version}, one thread, {len(literals()):,} texts. MiB: the largest of our processes.")
    return "\n".join(rows)
