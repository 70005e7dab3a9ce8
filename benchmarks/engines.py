"""Each engine against its own bare way, on three nodes of the rig: from the job's start to the first step.

Needs root. ENGINES=ssh,ray and ENGINES_ROUNDS=0 (the warm-up alone) for a try.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "rig"))
from desk import Desk
from ray_site import RAY, SETTINGS, have_ray, start_ray
from slurm import Login, start_slurm

from rig import ROOT, STATE, Rig, address, only_one

TITLE = "Every engine against its own bare way"
ENGINES = tuple(os.environ.get("ENGINES", "ssh,pdsh,mpi,slurm,ray").split(","))
ROUNDS = int(os.environ.get("ENGINES_ROUNDS", "3"))
LIMIT_SECONDS = 900.0
AIM = 1.15
TINY = ROOT / ".cache" / "tiny-deepseek-v3"
BY_HAND = ROOT / "benchmarks" / "by_hand.sh"
EXAMPLE = ROOT / "examples" / "tiny-deepseek-v3.yaml"
HOSTS = ("node1", "node2", "node3")
NODES = 3
PORT = "29555"
VARIABLES = {"OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": f"{sys.prefix}/torch_extensions"}
"""DeepSpeed's operators: a folder of this environment, which another one cannot make stale. The warm-up fills it."""


@dataclass(frozen=True)
class Time:
    """Seconds to the first step, and of our side those before the launch; whether the adapter was verified."""

    first_step: float
    before: float = 0.0
    verified: bool = True


def measure() -> str:
    if os.geteuid():
        return "The rig needs root: nothing was measured."
    rows = [row_of(engine) for engine in ENGINES]
    return "\n".join(
        [
            f"The demo's training on three nodes of the rig, {ROUNDS} pairs a row in turns after one of warm-up,",
            "the median. Bare: `ssh` by three logins from one script, `pdsh` and `mpirun` on node1, `sbatch` of a",
            "script with one srun, `ray job submit` of a job with one task a machine; all end at the first line of",
            "the trainer's log. Ours begins where theirs does, at the launch; its checks, preparing and the probe",
            "stand apart.",
            "",
            "| engine | bare, s | allranks, s | ratio | before that, s | adapter verified |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            f"Aim ≤ {AIM}.",
        ]
    )


def row_of(engine: str) -> str:
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_one())
        rig = stack.enter_context(Rig(NODES, shared=[sys.prefix]))
        stack.enter_context(engine_on(rig, engine))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="allranks-engines-"))
        site = Site(rig, engine, Path(folder))
        pairs = [(site.bare(), site.ours()) for _ in range(ROUNDS + 1)]
    pairs = pairs[1:] or pairs
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
        self.desk = None if engine == "slurm" else Desk(rig, folder)
        self.login = Login(rig)

    def _out(self) -> Path:
        """A new folder that all nodes see; its path there is /nfs/out-N."""
        self.number += 1
        out = STATE / "nfs" / f"out-{self.number}"
        out.mkdir()
        return out

    # ---- by hand ----

    def bare(self) -> Time:
        """The whole training by the engine's own means; it runs to its end, so that nothing disturbs the next."""
        out = self._out()
        begin = time.time()
        process = subprocess.Popen(
            self._bare(f"/nfs/{out.name}"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            first = first_step(out, process) - begin
            text = process.communicate(timeout=LIMIT_SECONDS)[0].decode(errors="replace")
        finally:
            process.kill()
        if process.returncode != 0:
            raise RuntimeError(f"{self.engine} by hand ended with {process.returncode}: {text[-1500:]}")
        return Time(first)

    def _bare(self, out: str) -> list[str]:
        env = ["env", *(f"{name}={value}" for name, value in VARIABLES.items())]
        script = ["bash", str(BY_HAND), out, str(TINY)]
        each = [*env, f"PORT={PORT}", f"MASTER={address(1)}"]
        if self.engine == "ssh":
            hosts = [f"HOSTS={' '.join(HOSTS)}", f"SSH_CONFIG={STATE}/ssh_config", f"PORT={PORT}"]
            return self.rig.from_ctl(
                [*env, *hosts, "bash", str(BY_HAND), str(STATE / "nfs" / Path(out).name), str(TINY)]
            )
        if self.engine == "pdsh":
            words = ["pdsh", "-R", "ssh", "-S", "-w", ",".join(HOSTS), " ".join([*each, "RANK=%n", *script])]
        elif self.engine == "mpi":
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
            ranked = 'RANK=$OMPI_COMM_WORLD_RANK exec "$@"'
            words += ["sh", "-c", ranked, "sh", *each, *script]
        elif self.engine == "slurm":
            ranked = 'RANK=$SLURM_NODEID exec "$@"'
            line = " ".join(["srun", "sh", "-c", f"'{ranked}'", "sh", *each, *script])
            asked = f"#SBATCH --nodes={NODES} --ntasks-per-node=1 --exclusive --output={out}/job.log"
            job = f"#!/bin/bash\n{asked}\n{line}\n"
            words = ["sh", "-c", 'printf %s "$1" | sbatch --wait', "sh", job]
        else:
            hosts = [address(number) for number in range(1, NODES + 1)]
            settings = [f"{name}={value}" for name, value in SETTINGS.items()]
            job = [
                str(RAY.with_name("python")),
                str(ROOT / "benchmarks" / "_ray_job.py"),
                str(BY_HAND),
                out,
                str(TINY),
            ]
            words = [
                "env",
                *settings,
                *env[1:],
                str(RAY),
                "job",
                "submit",
                "--address",
                "http://127.0.0.1:8265",
                "--",
            ]
            words += [*env, *job, PORT, *hosts]
        return self.rig.inside(1, words)

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
        if self.desk is None:
            (STATE / "nfs" / "run.yaml").write_text(json.dumps(keys))
            return self.login.command("run", "/nfs/run.yaml", "--json")
        return self.desk.command("run", self.desk.file(**keys), "--json")

    def _phases(self, run_id: str) -> dict[str, float]:
        home = "/nfs/home" if self.desk is None else "/root/.allranks"
        text = self.rig.run(1, ["cat", f"{home}/runs/{run_id}/keeper/journal.jsonl"]).stdout.decode()
        times: dict[str, float] = {}
        for line in text.splitlines():
            event = json.loads(line)
            if event["kind"] == "phase":
                times.setdefault(event["data"]["phase"], event["at"])
        return times


def run_keys(engine: str, out: str) -> dict[str, Any]:
    """The demo's run file for three real nodes: the same arguments, another place."""
    import yaml

    keys = yaml.safe_load(EXAMPLE.read_text())
    arguments = keys["train"]["llamafactory"]
    for name in ("model_name_or_path", "dataset_dir"):
        arguments[name] = str((EXAMPLE.parent / arguments[name]).resolve())
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
