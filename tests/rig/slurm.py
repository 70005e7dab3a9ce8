"""SLURM on the rig: slurmctld on node1, a slurmd on every node; real munge, generic GPUs of plain device files.

No accounting, so no sacct. The cluster's own files lie in /nfs/slurm, which all nodes share.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from tests.harness import until
from tests.rig.rig import STATE, Rig, address

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
    why = "SLURM's nodes are not idle: /tmp/slurmctld.log on node1 says why"
    until(lambda: states(rig) == ["idle"] * rig.count, why, seconds, 0.2)


def states(rig: Rig) -> list[str]:
    return said(rig, ["sinfo", "-h", "-N", "-o", "%T"]).split()


def said(rig: Rig, command: Sequence[str]) -> str:
    """What a SLURM command prints on node1, the cluster's head."""
    return rig.run(1, command, check=False).stdout.decode()
