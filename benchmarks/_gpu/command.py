"""`python -m benchmarks gpu [STAGE …]`: measures what only a machine with a GPU can say. docs/gpu.md says how.

Each part is measured once: what is in the results folder already is not measured again (`--again`). The command ends
by itself before `--minutes` are over, and goes on at the next call.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks._gpu import pages, store, wheels
from benchmarks._gpu.parts import (
    FAILED,
    LEFT_OUT,
    MEASURED,
    NOT_STARTED,
    TIMED_OUT,
    Machine,
    Part,
    apart,
    as_child,
    environment,
    stage,
    stages,
)

MINUTES = 9.5
TINY_SECONDS = 240.0
"""Of a part on a CPU: nobody waits there for a machine that is lent for minutes."""

BETWEEN_SECONDS = 3.0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    made.add_argument("stages", nargs="*", choices=[*stages(), []], metavar="STAGE", help=", ".join(stages()))
    made.add_argument(
        "--out", type=Path, default=None, help="where results go: $OUT, or benchmarks/results/gpu"
    )
    made.add_argument(
        "--tiny",
        action="store_true",
        help="on the CPU with tiny sizes, as where there is no GPU: proves the code, measures no GPU",
    )
    made.add_argument("--again", action="store_true", help="also what was measured before")
    made.add_argument("--part", action="append", help="only these parts of the stage")
    made.add_argument(
        "--minutes", type=float, default=MINUTES, help=f"ends before this is over ({MINUTES:g})"
    )
    made.add_argument("--archive", type=Path, help="also all results as one .tgz, renewed after each part")
    made.add_argument("--list", action="store_true", help="stages, parts, limits, and what is measured")
    made.add_argument("--write", action="store_true", help="only writes the pages from the results")
    made.add_argument("--take", type=Path, help="results of another machine: a folder or its archive")
    for hidden in ("--device", "--gpu-name"):
        made.add_argument(hidden, help=argparse.SUPPRESS)
    made.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return made


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    out = (options.out or Path(os.environ.get("OUT") or store.FOLDER)).resolve()
    wanted = options.stages or stages()
    if options.child:
        name, answer = options.child
        machine = Machine(options.device, options.gpu_name or None, out)
        return as_child(wanted[0], name, Path(answer), machine)
    if options.take:
        print("taken:", ", ".join(store.take(options.take)) or "nothing")
        return pages.write(store.FOLDER)
    if options.write:
        return pages.write(out)
    wheels.enter(os.environ.get("GPU_WHEELS"), words)
    machine = here(out, options.tiny)
    if options.list:
        print(listed(machine, wanted))
        return 0
    outcomes = measured(machine, wanted, options)
    if machine.device == "cuda" or out == store.FOLDER:
        pages.write(out)
    print(summary(machine, wanted, outcomes))
    return code_of(outcomes)


def here(out: Path, tiny: bool) -> Machine:
    """This machine, asked in a process of its own: no CUDA context stays behind."""
    code = "import torch; print('GPU', torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    name = ""
    if not tiny:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=180,
        )
        if done.returncode:
            raise SystemExit(f"{sys.executable} cannot import torch: {done.stderr.strip()[-500:]}")
        name = done.stdout.rpartition("GPU ")[2].strip()
    return Machine("cuda" if name else "cpu", name or None, out)


def measured(machine: Machine, wanted: list[str], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Each stage's outcomes by part, saved after each part."""
    until = time.monotonic() + 60 * options.minutes
    outcomes: dict[str, dict[str, Any]] = {}
    for name in wanted:
        found = known(machine, name) or store.begun(name, machine)
        parts = [p for p in stage(name).PARTS if not options.part or p.name in options.part]
        for part in parts:
            if store.done(found, part.name) and not options.again:
                print(f"{name} {part.name}: measured before", flush=True)
                continue
            limited = limit(part, machine)
            if time.monotonic() + limited.seconds + BETWEEN_SECONDS > until:
                why = f"its limit of {limited.seconds:g} s is more than was left of {options.minutes:g} min"
                outcome = {"state": NOT_STARTED, "why": why, "met": None}
            else:
                outcome = apart(name, limited, machine)
            # What is known is never replaced by a failure of a later try.
            if not store.done(found, part.name) or outcome["state"] == MEASURED:
                found["parts"][part.name] = outcome
            store.write(machine.out, {**found, **about(machine, name)})
            if options.archive:
                store.archive(machine.out, options.archive)
            print(f"{name} {part.name}: {told(outcome)}", flush=True)
        outcomes[name] = {part.name: found["parts"].get(part.name, {}) for part in parts}
    return outcomes


def known(machine: Machine, name: str) -> dict[str, Any] | None:
    """What was measured of a stage: in the results folder, else in this tree, which may have come here with it. Of
    another GPU nothing is taken over."""
    folders = (machine.out, store.FOLDER) if machine.device == "cuda" else (machine.out,)
    for folder in folders:
        found = store.read(folder, name, machine.device)
        if found is not None and found["gpu"] == machine.gpu:
            return found
    return None


def about(machine: Machine, name: str) -> dict[str, Any]:
    return {key: value for key, value in store.begun(name, machine).items() if key != "parts"}


def limit(part: Part, machine: Machine) -> Part:
    return part if not machine.tiny else Part(part.name, part.measure, TINY_SECONDS, part.needs)


def told(outcome: dict[str, Any]) -> str:
    verdict = {True: ", aim met", False: ", AIM MISSED", None: ""}[outcome.get("met")]
    seconds = f" in {outcome['seconds']:g} s" if "seconds" in outcome else ""
    why = " ".join(str(outcome.get("why") or "").split())[-300:]
    return f"{outcome.get('state', NOT_STARTED)}{seconds}{verdict}" + (f": {why}" if why else "")


def listed(machine: Machine, wanted: list[str]) -> str:
    rows = []
    for name in wanted:
        found = known(machine, name)
        rows.append(
            f"{name}: {stage(name).TITLE} (at most {sum(p.seconds for p in stage(name).PARTS):g} s on a GPU)"
        )
        for part in stage(name).PARTS:
            state = (found or {"parts": {}})["parts"].get(part.name, {}).get("state", "open")
            needs = f", needs {', '.join(part.needs)}" if part.needs else ""
            rows.append(f"  {part.name}: {state}, limit {part.seconds:g} s{needs}")
    return "\n".join(rows)


def summary(machine: Machine, wanted: list[str], outcomes: dict[str, dict[str, Any]]) -> str:
    """What is measured and what is missing, and the packages that would close the gaps."""
    where = (
        machine.gpu
        if machine.device == "cuda"
        else "the CPU with tiny sizes: this proves the code, no GPU was measured"
    )
    rows = ["", f"On {where}:"]
    lacks: set[str] = set()
    for name in wanted:
        states = {part: outcome.get("state", NOT_STARTED) for part, outcome in outcomes[name].items()}
        good = sum(state == MEASURED for state in states.values())
        missed = [part for part, outcome in outcomes[name].items() if outcome.get("met") is False]
        gaps = [f"{part} ({state})" for part, state in states.items() if state != MEASURED]
        rows.append(
            f"  {name}: {good} of {len(states)} parts measured"
            + (f"; aim missed: {', '.join(missed)}" if missed else "")
            + (f"; missing: {', '.join(gaps)}" if gaps else "")
        )
        lacks.update(one for outcome in outcomes[name].values() for one in outcome.get("lacks", ()))
    if lacks:
        rows.append(
            f"Not installed here: {', '.join(sorted(lacks))}. `make gpu-wheels` makes a folder for GPU_WHEELS."
        )
    rows.append(f"Results: {machine.out}")
    return "\n".join(rows)


def code_of(outcomes: dict[str, dict[str, Any]]) -> int:
    """0: all of it measured and every aim met; 1: a part failed or missed its aim; 3: something was not looked at."""
    parts = [outcome for stage_parts in outcomes.values() for outcome in stage_parts.values()]
    if any(one.get("state") in (FAILED, TIMED_OUT) or one.get("met") is False for one in parts):
        return 1
    return 3 if any(one.get("state", NOT_STARTED) in (LEFT_OUT, NOT_STARTED) for one in parts) else 0
