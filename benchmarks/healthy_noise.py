"""Healthy training with noise, through the real supervisors and keeper: how many false alarms.

    HOURS=2 python -m benchmarks healthy_noise            or RUNS=200; it stops at whichever comes first
    STREAMS=2 …                                     so many runs side by side (2 by default)
    LONG=1 SECONDS=120 …                            so many of eight runs train for so long, up to twice that
    FIRST=0 …                                       the number of the first run, from which all of it is drawn
    HOURS=0 …                                       only writes the section from what was reached

Each run is three ranks of `_healthy_noise_loop.py` on three local nodes: uneven steps, a long first step, saves to slow
storage, evaluations, loader workers, a graph that is compiled anew for 20 to 40 s in the middle, a rank that works on
alone for as long after the end, all drawn from the run's number. Beside them the machine is kept busy for a part of
the time. An alarm is any finding of warn or worse after the launch, or a run that does not succeed. What was reached
stands in RESULTS (a JSON line a run), so a second call extends it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

TITLE = "Healthy training with noise: false alarms"
ON_REQUEST = True
LOOP = Path(__file__).parent / "_healthy_noise_loop.py"
HOURS = float(os.environ.get("HOURS", "2"))
RUNS = int(os.environ.get("RUNS", "200"))
STREAMS = int(os.environ.get("STREAMS", "2"))
LONG = int(os.environ.get("LONG", "1"))
SECONDS = float(os.environ.get("SECONDS", "120"))
FIRST = int(os.environ.get("FIRST", "0"))
RESULTS = Path(os.environ.get("RESULTS", str(Path(__file__).parent.parent / ".cache" / "healthy.jsonl")))
FINAL = ("succeeded", "failed", "stopped", "lost")


def one(number: int, home: Path) -> dict[str, Any]:
    """One run, from `allranks run` to its end."""
    pick = random.Random(number)
    seconds = pick.uniform(SECONDS, 2.0 * SECONDS) if number % 8 >= 8 - LONG else pick.uniform(8.0, 25.0)
    with tempfile.TemporaryDirectory(prefix="healthy-") as folder:
        words = [str(LOOP), "--seed", str(number), "--seconds", f"{seconds:.0f}", "--folder", folder]
        data = {
            "name": "healthy",
            "nodes": "node-[0-2]",
            "same_host": True,
            "gpus": {"count": 1, "model": "cpu"},
            "environment": {"python": sys.executable},
            "network": {"port": free_port()},
            "train": {"command": words},
            "env": {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        }
        file = Path(folder, "run.yaml")
        file.write_text(json.dumps(data))
        done = subprocess.run(
            [sys.executable, "-m", "allranks.cli", "run", str(file), "--json"],
            capture_output=True,
            text=True,
            timeout=900,
            env={**os.environ, "ALLRANKS_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            check=False,
        )
    runs = json.loads(done.stdout)["runs"] if done.stdout.startswith("{") else []
    if not runs:
        return {"run": number, "trouble": (done.stdout + done.stderr)[-400:]}
    return {"run": number, **judged(runs[0])}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def judged(run: dict[str, Any]) -> dict[str, Any]:
    text = Path(run["directory"], "keeper", "journal.jsonl").read_text("utf-8", "replace")
    events = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    begun = next((n for n, e in enumerate(events) if e["data"].get("state") == "running"), len(events))
    alarms = [
        {"after": round(e["at"] - events[begun]["at"], 1), "id": e["data"]["id"], "saw": e["data"]["saw"]}
        for e in events[begun:]
        if e["kind"] == "finding" and e["data"].get("verdict") in ("warn", "block")
    ]
    steps = [e["at"] for e in events if e["kind"] == "beat" and e["data"].get("steps")]
    if alarms or run["state"] != "succeeded":  # the run's folder goes, its journal stays
        RESULTS.with_name(f"healthy-{run['id']}.jsonl").write_text(text)
    return {
        "id": run["id"],
        "state": run["state"],
        "alarms": alarms,
        "trained_seconds": round(steps[-1] - steps[0], 1) if steps else 0.0,
        "seconds": round(events[-1]["at"] - events[0]["at"], 1),
        "steps": run.get("step"),
        "compiled_anew": compiled_anew(events),
        "worked_on": worked_on(events),
    }


def compiled_anew(events: list[dict[str, Any]]) -> bool:
    """Whether a rank that had taken some steps told that it compiles."""
    beats = [e["data"] for e in events if e["kind"] == "beat"]
    return any(b["phase"] == "compiling" and (b["step"] or 0) > 3 for b in beats)


def worked_on(events: list[dict[str, Any]]) -> bool:
    """Whether a rank ended more than ten seconds after the first."""
    ends = [e["at"] for e in events if e["kind"] == "end"]
    return bool(ends) and max(ends) - min(ends) > 10.0


def load_machine(stop: Any) -> None:
    """A neighbour that wants a core for some seconds, then none for some more."""
    pick = random.Random(0)
    while not stop.is_set():
        until = time.monotonic() + pick.uniform(2.0, 15.0)
        while time.monotonic() < until and not stop.is_set():
            sum(range(100_000))
        stop.wait(pick.uniform(20.0, 60.0))


def results() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines() if line.startswith("{")]


def run_all() -> None:
    """Until enough runs or hours are reached; every run's line is written as it ends."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    deadline, lock = time.monotonic() + 3600.0 * HOURS, threading.Lock()
    numbers = iter(range(max([r["run"] for r in results()], default=FIRST - 1) + 1, FIRST + RUNS))

    def stream(home: Path) -> None:
        while time.monotonic() < deadline:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            outcome = one(number, home)
            with lock, RESULTS.open("a") as file:
                file.write(json.dumps(outcome) + "\n")
                print(json.dumps(outcome), flush=True)

    with tempfile.TemporaryDirectory(prefix="healthy-home-") as folder:
        threads = [
            threading.Thread(target=stream, args=(Path(folder, str(n)),), daemon=True) for n in range(STREAMS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def measure() -> str:
    stop = multiprocessing.Event()
    neighbour = multiprocessing.Process(target=load_machine, args=(stop,), daemon=True)
    neighbour.start()
    try:
        run_all()
    finally:
        stop.set()
        neighbour.join()
    return told(results())


def told(found: list[dict[str, Any]]) -> str:
    ran = [r for r in found if "state" in r]
    alarms = [(r["run"], a) for r in ran for a in r["alarms"]]
    bad = [r for r in ran if r["state"] != "succeeded"]
    hours = sum(r["trained_seconds"] for r in ran) / 3600.0
    whole = sum(r["seconds"] for r in ran) / 3600.0
    lines = [
        f"{len(ran)} runs of three ranks, {hours:.2f} hours of training ({whole:.2f} hours from launch"
        f" to end): **{len(alarms)} alarms**, {len(bad)} runs that did not succeed (aim: 0 in 200 runs or 2"
        f" hours). {len(found) - len(ran)} could not be started."
    ]
    known = [r for r in ran if "worked_on" in r]
    compiled, worked = sum(r["compiled_anew"] for r in known), sum(r["worked_on"] for r in known)
    lines += [
        f"Of {len(known)} of them, {compiled} compiled a graph anew for 20 to 40 s after some steps, and in {worked} a"
        " rank worked on alone for 15 to 40 s after the end."
    ]
    lines += [f"- run {number}: {alarm['id']}: {alarm['saw']}" for number, alarm in alarms]
    lines += [f"- run {r['run']} ended {r['state']}" for r in bad]
    return "\n".join(lines)
