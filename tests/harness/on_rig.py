"""Desks on the rig's machines: where the controller sits, and on SLURM's login node."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness.desk import OVER, Desk
from tests.rig.rig import ROOT, STATE, Rig, only_one
from tests.rig.slurm import said


def machines(count: int, *prepare: Callable[[Rig], Any]) -> Any:
    """A module's fixture `rig`: so many machines that see this environment, each prepared by these functions."""

    @pytest.fixture(scope="module")
    def rig() -> Iterator[Rig]:
        with only_one(), Rig(count, shared=[sys.prefix, sys.base_prefix]) as made:
            for one in prepare:
                one(made)
            yield made

    return rig


def lines_of(rig: Rig, number: int) -> list[str]:
    """A node's processes, as `command line |pid`."""
    read = "for p in /proc/[0-9]*; do tr '\\0\\n' '  ' < $p/cmdline; echo \"|${p#/proc/}\"; done 2>/dev/null"
    return rig.run(number, ["sh", "-c", read], check=False).stdout.decode(errors="replace").splitlines()


class RigDesk(Desk):
    """The controller's side: a home and ssh settings of its own, and nothing of this machine's network."""

    def __init__(self, rig: Rig, folder: Path, environment: Mapping[str, str] | None = None):
        super().__init__(
            folder, {"HOME": str(folder), "PYTHONPATH": str(ROOT / "src"), **(environment or {})}
        )
        self.rig = rig
        ssh = folder / ".ssh"
        ssh.mkdir(mode=0o700, parents=True)
        (ssh / "config").write_text((STATE / "ssh_config").read_text())
        (ssh / "known_hosts").write_text((STATE / "known_hosts").read_text())

    def place(self, command: list[str]) -> list[str]:
        return self.rig.from_ctl(command)

    def defaults(self) -> dict[str, Any]:
        nodes = f"node[1-{self.rig.count}]" if self.rig.count > 1 else "node1"
        return {"name": "rig", "nodes": nodes, "environment": {"python": sys.executable}}

    def keeper(self, run_id: str) -> Path:
        """The head is node1."""
        return Path(f"/proc/{self.rig.init_pid(1)}/root/root/.allranks/runs/{run_id}/keeper")

    def close(self) -> None:
        """Stops what a failed test has left: the next one wants its ports."""
        for run_id in self.begun:
            if self.now(run_id).get("state", "succeeded") not in OVER:
                self("stop", run_id, "-y")
        super(Desk, self).close()


class HeadDesk(RigDesk):
    """A person on node1, the head, whose run files lie where all nodes see them."""

    def __init__(self, rig: Rig, environment: Mapping[str, str] | None = None):
        home = {"HOME": "/root", "ALLRANKS_HOME": "/root/.allranks", "PYTHONPATH": str(ROOT / "src")}
        Desk.__init__(self, STATE / "nfs", {**home, **(environment or {})})
        self.rig = rig

    def place(self, command: list[str]) -> list[str]:
        return self.rig.inside(1, command)

    def file(self, *arguments: object, **keys: Any) -> Path:
        return Path("/nfs") / super().file(*arguments, **keys).name


class SlurmDesk(HeadDesk):
    """A person on SLURM's login node, with a home that all nodes share."""

    every = 1.0  # what is asked is mostly SLURM

    def __init__(self, rig: Rig, environment: Mapping[str, str] | None = None):
        super().__init__(rig, {"ALLRANKS_HOME": "/nfs/home", **(environment or {})})

    def defaults(self) -> dict[str, Any]:
        launch = {"with": "slurm", "partition": "train", "time": "10"}
        return {**super().defaults(), "name": "contract", "nodes": 3, "launch": launch}

    def keeper(self, run_id: str) -> Path:
        return STATE / "nfs" / "home" / "runs" / run_id / "keeper"

    def start(self, *words: object) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return self.begin(self.command(*words, "--json"), stdout=pipe, stderr=pipe, text=True)

    def jobs(self) -> list[str]:
        return said(self.rig, ["squeue", "-h", "-r", "-o", "%i %j %T"]).splitlines()

    def no_jobs(self) -> bool:
        return self.until(lambda: not self.jobs(), self.jobs, 120.0)
