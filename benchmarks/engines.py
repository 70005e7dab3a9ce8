"""Each engine against its own bare way, on three nodes of the rig: from the job's start to the first step.

Needs root. ENGINES=ssh,ray and ENGINES_ROUNDS=0 (one pair, begun cold) for a try.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._operators import operators
from tests.harness.on_rig import RigDesk, SlurmDesk
from tests.rig.ray_site import RAY, SETTINGS, have_ray, start_ray
from tests.rig.rig import ROOT, STATE, Rig, address, only_one
from tests.rig.slurm import start_slurm

TITLE = "Every engine against its own bare way"
ENGINES = tuple(os.environ.get("ENGINES", "ssh,pdsh,mpi,deepspeed,slurm,ray").split(","))
ROUNDS = int(os.environ.get("ENGINES_ROUNDS", "2"))
STEPS = 4
"""Of the demo's 36: what follows the first says nothing of a launch, but for the adapter at the end."""
LIMIT_SECONDS = 900.0
AIM = 1.15
TINY = ROOT / ".cache" / "tiny-deepseek-v3"
BY_HAND = ROOT / "benchmarks" / "by_hand.sh"
EXAMPLE = ROOT / "examples" / "tiny-deepseek-v3.yaml"
HOSTS = ("node1", "node2", "node3")
NODES = 3
PORT = "29555"
VARIABLES = {"OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": operators()}


@dataclass(frozen=True)
class Time:
    """Seconds to the first step, and of our side those before the launch; whether the adapter was verified."""

    first_step: float
    before: float = 0.0
    verified: bool = True


def measure() -> str:
    if os.geteuid():
        return "The rig needs root: nothing was measured."
    rows = [row_of(engine, first=not number) for number, engine in enumerate(ENGINES)]
    return "\n".join(
        [
            f"{STEPS} steps of the demo's training on three nodes of the rig, {max(ROUNDS, 1)} pairs a row in turns",
            "(by hand first, then second) after one run of warm-up, the median. By hand: `ssh` by three logins",
            "from one script, `pdsh`, `mpirun` and `deepspeed --hostfile` on node1, `sbatch` of a script with one",
            "srun, `ray job submit` of a job with one task per machine. All end at the first line of the trainer's",
            "log. Both begin at the launch: by hand that is the command, with SLURM the job's start after the queue;",
            "ours is the journal's `launch`. Its queue, checks and preparing stand apart; it runs with `--no-probe`.",
            "",
            "| engine | by hand, s | allranks, s | ratio | before that, s | adapter verified |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            f"Aim ≤ {AIM}.",
        ]
    )


def row_of(engine: str, first: bool) -> str:
    """A row of the table. The run of warm-up fills the page cache and builds DeepSpeed's operators: once is enough."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_one())
        rig = stack.enter_context(Rig(NODES, shared=[sys.prefix]))
        stack.enter_context(engine_on(rig, engine))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="allranks-engines-"))
        site = Site(rig, engine, Path(folder))
        if first and ROUNDS:
            site.bare()
        pairs = [site.pair(ours_first=bool(number % 2)) for number in range(max(ROUNDS, 1))]
    bare = statistics.median(one.first_step for one, _ in pairs)
    ours = statistics.median(one.first_step for _, one in pairs)
    ratio = statistics.median(mine.first_step / theirs.first_step for theirs, mine in pairs)
    before = statistics.median(mine.before for _, mine in pairs)
    proved = sum(mine.verified for _, mine in pairs)
    return (
        f"| {engine} | {bare:.1f} | {ours:.1f} | **{ratio:.3f}** | {before:.1f} | {proved} of {len(pairs)} |"
    )


@contextlib.contextmanager
def engine_on(rig: Rig, engine: str) -> Iterator[None]:
    if engine == "slurm":
        start_slurm(rig, 120.0)
    if engine == "ray":
        have_ray(rig)
        start_ray(rig)
    yield


class Site:
    """One engine on the rig, with a person who uses it by hand and one who uses allranks."""

    def __init__(self, rig: Rig, engine: str, folder: Path):
        self.rig, self.engine, self.folder, self.number = rig, engine, folder, 0
        self.desk = SlurmDesk(rig) if engine == "slurm" else RigDesk(rig, folder)

    def _out(self) -> Path:
        """A new folder that all nodes see; its path there is /nfs/out-N."""
        self.number += 1
        out = STATE / "nfs" / f"out-{self.number}"
        out.mkdir()
        return out

    def pair(self, ours_first: bool) -> tuple[Time, Time]:
        """(by hand, ours), one after the other."""
        if ours_first:
            ours = self.ours()
            return self.bare(), ours
        return self.bare(), self.ours()

    # ---- by hand ----

    def bare(self) -> Time:
        """The whole training by the engine's own means; it runs to its end, so that nothing disturbs the next."""
        out = self._out()
        begin = time.time()
        process = subprocess.Popen(
            self._bare(f"/nfs/{out.name}"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            first = first_step(out, process)
            text = process.communicate(timeout=LIMIT_SECONDS)[0].decode(errors="replace")
            if self.engine == "slurm":
                begin = float((out / "began").read_text())
        finally:
            process.kill()
        if process.returncode != 0:
            raise RuntimeError(f"{self.engine} by hand ended with {process.returncode}: {text[-1500:]}")
        return Time(first - begin)

    def _bare(self, out: str) -> list[str]:
        variables = {**VARIABLES, "PORT": PORT, "MASTER": address(1), "STEPS": str(STEPS)}
        each = ["env", *(f"{name}={value}" for name, value in variables.items())]
        script = ["bash", str(BY_HAND), out, str(TINY)]
        if self.engine == "ssh":
            hosts = [f"HOSTS={' '.join(HOSTS)}", f"SSH_CONFIG={STATE}/ssh_config"]
            script[2] = str(STATE / "nfs" / Path(out).name)
            return self.rig.from_ctl([*each, *hosts, *script])
        words = {
            "pdsh": by_pdsh,
            "mpi": by_mpirun,
            "deepspeed": by_deepspeed,
            "slurm": by_sbatch,
            "ray": by_ray,
        }
        return self.rig.inside(1, words[self.engine](each, script, out))

    # ---- with allranks ----

    def ours(self) -> Time:
        out = self._out()
        command = self._ours(f"/nfs/{out.name}")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            first = first_step(out, process)
            text, errors = process.communicate(timeout=LIMIT_SECONDS)
        finally:
            process.kill()
        try:
            run = json.loads(text)["runs"][0]
        except (ValueError, LookupError):
            raise RuntimeError(f"{self.engine}: {(text + errors).decode(errors='replace')[-2000:]}") from None
        phases = self._phases(run["id"])
        verified = run["state"] == "succeeded" and bool(run["adapter"])
        return Time(first - phases["launch"], phases["launch"] - phases["check"], verified)

    def _ours(self, out: str) -> list[str]:
        keys = run_keys(self.engine, out)
        return self.desk.command("run", self.desk.file(**keys), "--no-probe", "--json")

    def _phases(self, run_id: str) -> dict[str, float]:
        times: dict[str, float] = {}
        for event in self.desk.events(run_id, "phase"):
            times.setdefault(event["data"]["phase"], event["at"])
        return times


# ---- each engine's own words, on node1 ----


def by_pdsh(each: list[str], script: list[str], out: str) -> list[str]:
    return ["pdsh", "-R", "ssh", "-S", "-w", ",".join(HOSTS), " ".join([*each, "RANK=%n", *script])]


def by_mpirun(each: list[str], script: list[str], out: str) -> list[str]:
    words = [
        "env",
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "mpirun",
        "-np",
        str(NODES),
    ]
    words += ["--host", ",".join(HOSTS), "--map-by", "node", "--bind-to", "none"]
    words += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
    return [*words, "sh", "-c", 'RANK=$OMPI_COMM_WORLD_RANK exec "$@"', "sh", *each, *script]


def by_deepspeed(each: list[str], script: list[str], out: str) -> list[str]:
    begin = 'printf "%s slots=1\\n" $1 >"$2" && shift && export HOSTFILE="$1" && shift && exec "$@"'
    return ["bash", "-c", begin, "bash", " ".join(HOSTS), f"{out}/hostfile", *each, *script]


def by_sbatch(each: list[str], script: list[str], out: str) -> list[str]:
    ranked = 'RANK=$SLURM_NODEID exec "$@"'
    line = " ".join(["srun", "sh", "-c", f"'{ranked}'", "sh", *each, *script])
    asked = f"#SBATCH --nodes={NODES} --ntasks-per-node=1 --exclusive --output={out}/job.log"
    job = f"#!/bin/bash\n{asked}\ndate +%s.%N >{out}/began\n{line}\n"
    return ["sh", "-c", 'printf %s "$1" | sbatch --wait', "sh", job]


def by_ray(each: list[str], script: list[str], out: str) -> list[str]:
    job = [str(RAY.with_name("python")), str(ROOT / "benchmarks" / "_ray_job.py"), *script[1:], PORT]
    words = [
        "env",
        *(f"{name}={value}" for name, value in SETTINGS.items()),
        *each[1:],
        str(RAY),
        "job",
        "submit",
    ]
    hosts = [address(number) for number in range(1, NODES + 1)]
    return [*words, "--address", "http://127.0.0.1:8265", "--", *each, *job, *hosts]


# ---- ours ----


def run_keys(engine: str, out: str) -> dict[str, Any]:
    """The demo's run file for three real nodes: the same arguments, another place."""
    import yaml

    keys = yaml.safe_load(EXAMPLE.read_text())
    arguments = keys["train"]["llamafactory"]
    for name in ("model_name_or_path", "dataset_dir"):
        arguments[name] = str((EXAMPLE.parent / arguments[name]).resolve())
    arguments["max_steps"] = STEPS
    del keys["same_host"]
    launch: dict[str, Any] = {"with": engine}
    if engine == "slurm":
        launch.update(partition="train", time="30")
    if engine == "ray":
        launch["address"] = "auto"
    keys.update(nodes=NODES if engine == "slurm" else "node[1-3]", launch=launch)
    keys.update(env=VARIABLES, environment={"python": sys.executable}, save={**keys["save"], "to": out})
    return keys


def first_step(folder: Path, process: subprocess.Popen) -> float:
    """The time at which a trainer's log below `folder` gets its first line."""
    deadline = time.time() + LIMIT_SECONDS
    while time.time() < deadline:
        for path in folder.rglob("trainer_log.jsonl"):
            if path.stat().st_size:
                return path.stat().st_mtime if path.read_text().count("\n") == 1 else time.time()
        if process.poll() not in (None, 0):
            text = b"".join(part for part in process.communicate() if part)
            shown = text.decode(errors="replace")[-2000:]
            raise RuntimeError(f"no first step: {shown}")
        time.sleep(0.02)
    raise RuntimeError(f"no first step below {folder} within {LIMIT_SECONDS:.0f} s")
