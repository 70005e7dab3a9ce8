"""How well `diagnose` names the causes of jobs that really run, each with one fault.

    python -m benchmarks diagnose_jobs                  all of them, which takes hours
    LOGS=FOLDER python -m benchmarks diagnose_jobs      reads what KEEP kept there, and runs nothing
    JOBS=a01,b python -m benchmarks.diagnose_jobs       runs those whose names begin so, and prints the answers
    KEEP=FOLDER …                                       keeps each job's log as FOLDER/ID
    python -m benchmarks.diagnose_jobs --record         keeps the answers as the first ones

Public logs are labelled by people who read them. Here the cause is known: each folder of `benchmarks/jobs/` is a job
that was written with one fault, or with none but a log that looks like one. torch, transformers, DeepSpeed, Open MPI
and the others print what they print. Those who wrote the jobs had not read the patterns. The first answers are in
`benchmarks/results/diagnose_jobs.jsonl`. A job's name begins with letters that say when it was written (`DRAWS`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._jobs import Job, jobs, logs_of
from benchmarks._scripts.inputs import MODEL, WORDS
from benchmarks.diagnose_corpus import SURE, Said, share

TITLE = "Naming causes in jobs that really run"
ON_REQUEST = True
FIRST = Path(__file__).resolve().parent / "results" / "diagnose_jobs.jsonl"
DRAWS = {
    "a b c d": "a to d",
    "e f g": "e to g, after the first repairs",
    "h i": "h and i, after the second ones",
    "j k l": "j to l, after the third ones",
    "m n o": "m to o, after the fourth ones",
    "p q r": "p to r, after the fifth ones",
    "s t u": "s to u, after the sixth ones",
    "v w": "v and w, after the seventh ones",
    "x": "x, after the eighth ones",
    "y z": "y and z, after the ninth ones",
    "aa bb cc": "aa to cc, after the tenth ones",
}


def said_of(job: Job, logs: Path) -> Said:
    """The answer of the command to these logs. If it has none, that is a wrong one."""
    command = [sys.executable, "-m", "allranks.cli", "diagnose", "--json", str(logs)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    if "cause" not in told:
        return Said(job._asdict(), "no answer", "unproven", None)
    return Said(job._asdict(), told["cause"], told["confidence"], told["where"]["rank"])


def logs() -> Iterator[tuple[Job, Path]]:
    """Each job with its log, or with the folder of its logs."""
    chosen = jobs(os.environ.get("JOBS", ""))
    if os.environ.get("LOGS"):
        kept = ((job, Path(os.environ["LOGS"], job.id)) for job in chosen)
        yield from ((job, path) for job, path in kept if path.exists())
        return
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        work, tiny = Path(folder), Path(folder, "tiny-model")
        make = [sys.executable, "-c", MODEL, str(tiny), " ".join(WORDS)]
        subprocess.run(make, check=True, capture_output=True)
        for job in chosen:
            found = logs_of(job, work, tiny)
            if os.environ.get("KEEP"):
                kept = Path(os.environ["KEEP"], job.id)
                kept.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if found.is_dir() else shutil.copy2)(found, kept)
            yield job, found


def answers() -> Iterator[Said]:
    for job, found in logs():
        said = said_of(job, found)
        print(job.id, verdict(said), said.cause, said.sure, f"rank {said.rank}", flush=True)
        yield said


def verdict(said: Said) -> str:
    rank = said.case["rank"]
    wrong = [] if said.is_right else [f"it is {said.case['label']}"]
    return "; ".join(wrong + ([] if rank in (None, said.rank) else [f"it is rank {rank}"])) or "right"


def at_first() -> list[Said]:
    known = {job.id: job for job in jobs()}
    rows = map(json.loads, FIRST.read_text(encoding="utf-8").splitlines()) if FIRST.exists() else ()
    return [
        Said(known[row["id"]]._asdict(), row["said"], row["sure"], row["rank"])
        for row in rows
        if row["id"] in known
    ]


def record() -> None:
    """Keeps the answers to jobs that have none yet: a first try cannot be repeated."""
    known = {one.case["id"] for one in at_first()}
    with FIRST.open("a", encoding="utf-8") as file:
        for one in answers():
            if one.case["id"] not in known:
                row = {"id": one.case["id"], "said": one.cause, "sure": one.sure, "rank": one.rank}
                file.write(json.dumps(row) + "\n")


def row(title: str, told: list[Said]) -> str:
    failed = [one for one in told if one.case["kind"] == "failure"]
    healthy = [one for one in told if one.case["kind"] == "healthy"]
    ranked = [one for one in failed if one.case["rank"] is not None]
    cells = [share(failed), *(share(one for one in failed if one.sure == sure) for sure in SURE)]
    cells.append(f"{sum(not one.is_right for one in healthy)}/{len(healthy)}")
    cells.append(f"{sum(one.rank == one.case['rank'] for one in ranked)}/{len(ranked)}")
    return f"| {title} | " + " | ".join(cells) + " |"


PROSE = """
How well does `allranks diagnose` do on jobs whose fault is known, since each was written with one? The jobs, and what
counts as a right answer, are in `benchmarks/jobs/`. The logs are what torch, transformers, DeepSpeed, Open MPI and the
scripts really printed, with one to four ranks on a CPU. The frightening ones among the healthy jobs are meant to be
hard: they retry, restart, skip samples and log tracebacks, and all of them end with exit code 0.

**Most wrong answers are about jobs that got over their errors.** What a script prints waits in a buffer, and Python
shows it when it ends, behind the traceback. So a few printed lines behind an error do not prove that the job went on.
The lines of a logger do, since it waits for nothing, and those of ranks that take turns. So do words of the rank itself
("falling back to the next folder"), and those of a wrapper that starts it again. Rules that believed every line that
counts on made fewer mistakes here, and called crashed jobs healthy. They were taken back.

**What a script prints around a job proves little, too.** Batch scripts print `date`, `+ echo done` and
`=== Training finished ===` however the training ended. One version took such lines, or the headings of stages, for a
sign that the job went on. It gave fewer false causes in jobs that it had seen, and none fewer in the others. It also
called failed batch jobs healthy. These rules remain: sweeps with numbered trials, pytest, failures before the ranks
found each other, and wrappers that say that their program succeeded when they started it again.

**Often only a comparison of the ranks shows which one is guilty.** The sets `s`, `v` and `x` were asked for: one rank
is guilty, and in most of them no rank says what is wrong. In the set `w` ranks differ, too, but no single one is
guilty. `diagnose/differences.py` compares the lines that all ranks print. It was written before anybody saw these
sets, and repaired after each. To the logs of `v`, `w` and `x` the version before it (629bae52) names the right rank in
24 of 43 jobs (`git worktree add OLD 629bae52`, then `PYTHONPATH=OLD/src` and `JOBS=v,w,x`), and the first answers in 30
of 43; in `w` both name one in the same 5 jobs without a guilty rank. After
that a reviewer tried to break the rules with logs made for it. Now a difference alone names no rank if it is usual: the
last rank has fewer rows, rank 0 does more, small numbers of two ranks agree by chance.

**The sets `aa` and `bb` are about what had just been written**: stacks of hanging ranks in a log
(`diagnose/dumped_stacks.py`), and errors in the fields of JSON records (`diagnose/json_errors.py`). The version before
it (3dc5d19a) names a right cause in 6 of 12 failures of `aa`, 4 of 11 of `bb` and 13 of 16 of `cc`, which is about
anything. The first answers, with these two parts, are right in 9, 7 and 13. `aa` has no healthy jobs.
"""


def by_draw(told: list[Said], when: str) -> list[str]:
    parts = {
        title: [one for one in told if one.case["id"].rstrip("0123456789") in drawn.split()]
        for drawn, title in DRAWS.items()
    }
    return [row(f"{title}: {when}", part) for title, part in {**parts, "all": told}.items()]


def measure() -> str:
    first, now = at_first(), list(answers())
    wrong = [one for one in now if verdict(one) != "right"]
    return "\n".join(
        [
            PROSE.strip(),
            "",
            *(
                (
                    f"The logs of {len(now)} of the {len(jobs())} jobs were kept when they ran (`KEEP`, `LOGS`).",
                    "",
                )
                if os.environ.get("LOGS")
                else ()
            ),
            "| jobs | failures right | certain | likely | unproven | healthy: false | culprit |",
            "|---|---|---|---|---|---|---|",
            *by_draw(first, "first answers"),
            *by_draw(now, "now"),
            "",
            "Wrong now:",
            "",
            *(
                f"- `{one.case['id']}`: {one.case['why'].rstrip('.')}. Said: {one.cause}; {verdict(one)}."
                for one in wrong
            ),
        ]
    )


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    else:
        for _ in answers():
            pass
