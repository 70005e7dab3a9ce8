"""SLURM on the rig: slurmctld on node1, a slurmd on every node; real munge, generic GPUs of plain device files.

No accounting, so no sacct. The cluster's own files lie in /nfs/slurm, which all nodes share.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.rig.rig import ROOT, STATE, Rig, address
from tests.runs.runner import LIGHT, SCRIPTS

GPUS = 4

CONF = """\
ClusterName=rig
SlurmctldHost=node1({head})
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
SlurmdTimeout=120
BatchStartTimeout=120
MessageTimeout=60
KillWait=5
MpiDefault=none
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=node[1-{count}] CPUs={gpus} RealMemory=1000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

BEGIN = """\
set -e
rm -rf /etc/slurm; ln -sfn /nfs/slurm /etc/slurm
mkdir -p /run/munge /run/slurmd /run/slurmctld /dev/shm/gpus /var/lib/munge /var/log/munge /etc/munge
for n in $(seq 0 $((GPUS-1))); do [ -e /dev/shm/gpus/g$n ] || mknod /dev/shm/gpus/g$n c 1 3; done
install -o munge -g munge -m 400 /nfs/slurm/munge.key /etc/munge/munge.key
chown munge:munge /run/munge /var/lib/munge /var/log/munge; chmod 755 /run/munge /run /; chmod 711 /var/lib/munge
runuser -u munge -- /usr/sbin/munged --num-threads=2
if [ "$(hostname)" = node1 ]; then slurmctld; fi
slurmd
"""


def start_slurm(rig: Rig, seconds: float = 120.0) -> None:
    """Returns when all nodes are idle. The daemons end with their node's namespaces, when the rig goes."""
    folder = STATE / "nfs" / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "slurm.conf").write_text(CONF.format(head=address(1), count=rig.count, gpus=GPUS))
    (folder / "gres.conf").write_text(f"Name=gpu File=/dev/shm/gpus/g[0-{GPUS - 1}]\n")
    begun = [
        subprocess.Popen(rig.inside(number, ["env", f"GPUS={GPUS}", "bash", "-c", BEGIN]))
        for number in range(1, rig.count + 1)
    ]
    assert all(one.wait(timeout=seconds) == 0 for one in begun)
    deadline = time.monotonic() + seconds
    while states(rig) != ["idle"] * rig.count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"SLURM's nodes are {states(rig)}: /tmp/slurmctld.log on node1 says why")
        time.sleep(0.2)


def states(rig: Rig) -> list[str]:
    return said(rig, ["sinfo", "-h", "-N", "-o", "%T"]).split()


def said(rig: Rig, command: Sequence[str]) -> str:
    """What a SLURM command prints on node1, the cluster's head."""
    return rig.run(1, command, check=False).stdout.decode()


class Login:
    """allranks on SLURM's login node, with a home that all nodes share."""

    def __init__(self, rig: Rig, environment: Mapping[str, str] | None = None):
        self.rig, self.environment = rig, dict(environment or {})

    def words(self, *words: object) -> list[str]:
        """The command as it stands on a node."""
        own = {"ALLRANKS_HOME": "/nfs/home", "PYTHONPATH": str(ROOT / "src"), **self.environment}
        settings = [f"{name}={value}" for name, value in own.items()]
        return ["env", *settings, sys.executable, "-m", "allranks.cli", *map(str, words)]

    def command(self, *words: object) -> list[str]:
        return self.rig.inside(1, self.words(*words))

    def json(self, *words: object) -> Any:
        done = subprocess.run(self.command(*words, "--json"), capture_output=True, text=True, timeout=300)
        assert done.stdout.startswith(("{", "[")), (done.stdout[-2000:], done.stderr[-3000:])
        return json.loads(done.stdout)

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Begins a verb; its output is a pipe."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command(*words, "--json"), stdout=pipe, stderr=pipe, text=True)

    def file(self, script: Path, *arguments: object, **keys: Any) -> str:
        run = {
            "name": "contract",
            "nodes": 3,
            "gpus": {"count": 1, "model": "cpu"},
            "environment": {"python": sys.executable},
            "launch": {"with": "slurm", "partition": "train", "time": "10"},
            "train": {"command": [str(script), *map(str, arguments)]},
        }
        (STATE / "nfs" / "run.yaml").write_text(json.dumps({**run, **keys}))
        return "/nfs/run.yaml"

    def light(self, *arguments: object, **keys: Any) -> str:
        """A run without torch: what SLURM starts and ends are processes."""
        return self.file(SCRIPTS / "light_loop.py", *arguments, env={"PYTHONPATH": str(LIGHT)}, **keys)

    def jobs(self) -> list[str]:
        return said(self.rig, ["squeue", "-h", "-r", "-o", "%i %j %T"]).splitlines()

    def no_jobs(self, seconds: float = 120.0) -> bool:
        return bool(until(lambda: not self.jobs(), seconds))


def until(holds: Callable[[], Any], seconds: float = 120.0) -> Any:
    """What `holds` says as soon as that is true, or what it says at the end."""
    deadline = time.monotonic() + seconds
    while not (answer := holds()) and time.monotonic() < deadline:
        time.sleep(1.0)  # what is asked is mostly `ps`, which takes a core for most of a second
    return answer
