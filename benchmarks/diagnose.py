"""How well and how fast `diagnose` names causes.

    python benchmarks/diagnose.py CORPUS.jsonl [--wrong]

Each line of the corpus is an object with `id`, `label`, `log` and, where several labels are right, `accept`;
labels are the catalogue's ids with `_` for `-`. Prints precision and recall a label, the accuracy (label or in
`accept`), what was wrong, and the speed in MB/s of one core on text that is made up here.

`python -m benchmarks diagnose` takes the corpus from $ALLRANKS_CORPUS, where it is set.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from allranks.diagnose import diagnose, modules, parse  # the path is set just above

TITLE = "Naming the cause from logs"


def judged(path: Path) -> list[tuple[dict, str, str]]:
    """(case, predicted label, confidence) of every line of the corpus."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        diagnosis = diagnose(parse(case["log"], case["id"] + ".log"))
        found.append((case, diagnosis.cause.replace("-", "_"), diagnosis.confidence))
    return found


def is_right(case: dict, label: str) -> bool:
    return label == case["label"] or label in case.get("accept", ())


def table(results: list[tuple[dict, str, str]]) -> None:
    """A prediction that `accept` allows counts for the case's own label."""
    rows = [(case["label"], case["label"] if is_right(case, label) else label) for case, label, _ in results]
    print(f"{'label':36} {'cases':>5} {'precision':>9} {'recall':>7}")
    for label in sorted({name for row in rows for name in row}):
        true = sum(1 for actual, _ in rows if actual == label)
        said = sum(1 for _, predicted in rows if predicted == label)
        hits = sum(1 for actual, predicted in rows if actual == predicted == label)
        precision = f"{hits / said:.2f}" if said else "-"
        recall = f"{hits / true:.2f}" if true else "-"
        print(f"{label:36} {true:5} {precision:>9} {recall:>7}")


def summary(results: list[tuple[dict, str, str]]) -> None:
    right = sum(is_right(case, label) for case, label, _ in results)
    print(f"\nright: {right} of {len(results)} ({right / max(1, len(results)):.1%})")
    by_confidence = collections.Counter((sure, is_right(case, label)) for case, label, sure in results)
    for sure in ("certain", "likely", "unproven"):
        said = by_confidence[sure, True] + by_confidence[sure, False]
        if said:
            print(f"  {sure}: {by_confidence[sure, True]} of {said} right")


def speeds() -> dict[str, float]:
    """MB/s of CPU time over 80,000 lines each."""
    words = "alpha beta loader batch tensor gradient optimizer device memory process group kernel stream"
    pick = random.Random(1)
    some = words.split()
    texts = {
        "training steps": lambda n: (
            f"[2026-11-20 23:27:10] [rank{n % 8}] step {n} loss {3 - n / 1e6:.4f} lr 1e-4"
        ),
        "NCCL INFO": lambda n: (
            f"node-{n % 3}:{1000 + n % 8}:{2000 + n % 50} [{n % 8}] NCCL INFO Channel {n % 16:02d}/0 : "
            f"{n % 24}[{n % 8}] -> {(n + 1) % 24}[{n % 8}] [send] via NET/Socket/0"
        ),
        "no two lines alike": lambda n: " ".join(
            pick.choice(some) + str(pick.randrange(99)) for _ in range(12)
        ),
        "errors of all ranks": lambda n: (
            f"[rank{n % 24}]: RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection "
            f"closed by peer [10.0.0.{n % 250}]:{n % 60000}"
        ),
    }
    found = {}
    for name, make in texts.items():
        text = "\n".join(make(n) for n in range(80_000))
        began = time.process_time()
        diagnose(parse(text, "x.log"))
        found[name] = len(text) / 1e6 / (time.process_time() - began)
    return found


def measure() -> str:
    rows = [f"- {len(modules())} causes"]
    corpus = os.environ.get("ALLRANKS_CORPUS")
    if corpus:
        results = judged(Path(corpus))
        right = sum(is_right(case, label) for case, label, _ in results)
        rows.append(f"- {right} of {len(results)} labelled logs right ({right / max(1, len(results)):.1%})")
    rows += [f"- {name}: {speed:.0f} MB/s on one core" for name, speed in speeds().items()]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--wrong", action="store_true", help="print each case that was named wrongly")
    options = parser.parse_args()
    results = judged(options.corpus)
    table(results)
    if options.wrong:
        for case, label, sure in results:
            if not is_right(case, label):
                print(f"wrong: {case['id']} is {case['label']}, said {label} ({sure})")
    summary(results)
    print()
    for name, speed in speeds().items():
        print(f"{name:20} {speed:6.1f} MB/s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
