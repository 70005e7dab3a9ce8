"""The probe: who is at fault among 16 nodes in 200 seeded cases, and how long it takes on nodes of the rig."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from allranks.probe.blame import blame
from tests.probe.case import seeded
from tests.rig.rig import STATE, Rig, address, only_one

TITLE = "The pairwise probe"
CASES, SIZES = 200, (3, 16, 100)


def measure() -> str:
    exact, seconds = judged()
    lines = [
        f"The exact set of 1 to 3 bad nodes among 16, each in one direction or both, with up to 4 broken links between "
        f"good ones besides: **{exact} of {CASES}** seeded cases, {seconds / CASES * 1e3:.1f} ms a case.",
        "",
    ]
    if os.geteuid():
        return "\n".join([*lines, "The rig needs root: no times were measured."])
    lines += [
        "`allranks probe --no-torch` on nodes of the rig over SSH, from the command to its exit, against the same "
        "without bandwidth:",
        "",
        "| nodes | connections | rounds of pairs | seconds | without bandwidth |",
        "|---|---|---|---|---|",
    ]
    for size in SIZES:
        with only_one(), Rig(size) as rig, tempfile.TemporaryDirectory() as folder:
            home(Path(folder), size)
            called(rig, Path(folder), "--seconds", "0")  # the bundle travels once
            bare, found = called(rig, Path(folder), "--seconds", "0")
            whole, _ = called(rig, Path(folder))
        passed = sum(one["outcome"] == "ok" for one in found["connections"])
        rounds = min(15, size - 1 + size % 2)
        lines.append(
            f"| {size} | {passed} of {len(found['connections'])} | {rounds} | {whole:.1f} | {bare:.1f} |"
        )
    return "\n".join(lines)


def judged() -> tuple[int, float]:
    """How many cases were named exactly, and the seconds that judging took."""
    exact, seconds = 0, 0.0
    for seed in range(CASES):
        bad, links, failed, pairs = seeded(seed)
        began = time.perf_counter()
        found = blame(pairs, failed)
        seconds += time.perf_counter() - began
        exact += found.nodes == set(bad) and set(found.links) == links
    return exact, seconds


def home(folder: Path, size: int) -> None:
    ssh = folder / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "config").write_text((STATE / "ssh_config").read_text())
    (ssh / "known_hosts").write_text((STATE / "known_hosts").read_text())
    nodes = {f"node{n}": address(n) for n in range(1, size + 1)}
    (folder / "run.yaml").write_text(
        json.dumps({"nodes": nodes, "gpus": {"model": "cpu"}, "train": {"command": ["train.py"]}})
    )


def called(rig: Rig, folder: Path, *words: str) -> tuple[float, dict]:
    environment = [f"HOME={folder}", f"ALLRANKS_HOME={folder / 'allranks'}"]
    command = [
        sys.executable,
        "-m",
        "allranks.cli",
        "probe",
        str(folder / "run.yaml"),
        "--json",
        "--no-torch",
    ]
    began = time.perf_counter()
    done = subprocess.run(
        rig.from_ctl(["env", *environment, *command, *words]), capture_output=True, text=True, timeout=600
    )
    seconds = time.perf_counter() - began
    if not done.stdout:
        raise RuntimeError(done.stderr[-2000:])
    return seconds, json.loads(done.stdout)
