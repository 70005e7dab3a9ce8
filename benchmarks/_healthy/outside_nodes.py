"""Odd but healthy: disks, folders and links of single nodes, by refused writes and dropped packets, or on the rig."""

from __future__ import annotations

import resource
import shutil
import time
from typing import Any

from benchmarks._healthy.odd import STILL, named_of
from benchmarks._healthy.outside import DISK, FILL, FULL, SILENT, OfHead, OfWorker, Outside, here

GONE = ("folder-gone", "journal-unwritten", "rank-silent")


# ---- on one machine ----


class Quota(Outside):
    # Writes of a node's supervisor and ranks are refused, as by a quota. Sockets are not.
    lasts, may = (70.0, 80.0), FULL

    def act(self, trial: Any) -> None:
        pids = [trial.supervisor(self.node), *trial.ranks_of(self.node)]
        before = [resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY)) for pid in pids]
        time.sleep(self.seconds)
        for pid, limits in zip(pids, before, strict=True):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


class WorkerQuota(Quota, OfWorker):
    """a worker's files take nothing more for a while"""


class HeadQuota(Quota, OfHead):
    """the head's files take nothing more for a while"""


class NodeFolderGone(OfWorker):
    """a worker's part of the run's folder is removed"""

    lasts, may = (70.0, 80.0), GONE

    def act(self, trial: Any) -> None:
        shutil.rmtree(trial.node_folder(self.node))
        time.sleep(self.seconds)


class KeeperFolderGone(OfHead):
    """the keeper's part of the run's folder is removed"""

    lasts, may, code = (40.0, 50.0), GONE, None

    def act(self, trial: Any) -> None:
        shutil.rmtree(trial.run_folder(0) / "keeper")
        time.sleep(self.seconds)


class NetworkFlaps(Outside):
    """no packet arrives for 5 s, six times"""

    lasts, may = (5.0, 5.0), (*SILENT, *STILL)

    def act(self, trial: Any) -> None:
        for _ in range(6):
            self.cut()
            time.sleep(self.draw.uniform(3.0, 8.0))

    def cut(self) -> None:
        here("iptables -A INPUT -p tcp -j DROP")
        time.sleep(self.seconds)
        here("iptables -D INPUT -p tcp -j DROP")


class NetworkAway(NetworkFlaps):
    """no packet arrives for up to 24 s"""

    lasts, may = (12.0, 24.0), (*SILENT, *STILL, "head-cut-off")

    def act(self, trial: Any) -> None:
        self.cut()


class KeeperPortAway(Outside):
    """nothing reaches the keeper for up to 24 s, and the ranks train on"""

    lasts, may = (12.0, 24.0), (*SILENT, "head-cut-off")

    def act(self, trial: Any) -> None:
        port = trial.keeper_port()
        for how, seconds in (("-A", self.seconds), ("-D", 0.0)):
            here(f"iptables {how} INPUT -p tcp --dport {port} -j DROP")
            here(f"iptables {how} INPUT -p tcp --sport {port} -j DROP")
            time.sleep(seconds)


class BadNetwork(Outside):
    """one of ten to fifty packets is lost, on all connections"""

    lasts, may = (35.0, 45.0), ("straggler", *STILL)

    def act(self, trial: Any) -> None:
        how = f"-m statistic --mode random --probability {self.draw.uniform(0.02, 0.1):.3f}"
        here(f"iptables -A INPUT -p tcp {how} -j DROP")
        time.sleep(self.seconds)
        here(f"iptables -D INPUT -p tcp {how} -j DROP")


# ---- on the rig's nodes ----


class DiskFull(Outside):
    rig, lasts, may = True, (75.0, 85.0), FULL

    def before(self, trial: Any) -> None:
        trial.on(self.node, "mkdir -p -m 700 /root/.allranks && " + DISK.format("/root/.allranks"))

    def act(self, trial: Any) -> None:
        trial.on(self.node, FILL.format("/root/.allranks"))
        time.sleep(self.seconds)


class WorkerDiskFull(DiskFull, OfWorker):
    """the disk of a worker's home is full (rig)"""


class HeadDiskFull(DiskFull, OfHead):
    """the disk of the head's home is full (rig)"""


class FolderGone(Outside):
    rig, lasts, may = True, (75.0, 85.0), GONE

    def act(self, trial: Any) -> None:
        shutil.rmtree(trial.run_folder(self.node))
        time.sleep(self.seconds)


class WorkerFolderGone(FolderGone, OfWorker):
    """the run's folder on a worker is removed (rig)"""


class HeadFolderGone(FolderGone, OfHead):
    """the run's folder on the head is removed (rig)"""

    code = None


class LinkFlaps(OfWorker):
    """a node's link is down for 5 s, six times (rig)"""

    rig, lasts, may = True, (5.0, 5.0), SILENT

    def act(self, trial: Any) -> None:
        for _ in range(6):
            trial.rig.link(self.node + 1, False)
            time.sleep(self.seconds)
            trial.rig.link(self.node + 1, True)
            time.sleep(self.draw.uniform(3.0, 8.0))


class LinkAway(Outside):
    """a node's link is down once, the head's too (rig)"""

    rig, lasts, may = True, (12.0, 20.0), (*SILENT, *STILL, "head-cut-off")

    def act(self, trial: Any) -> None:
        trial.rig.link(self.node + 1, False)
        time.sleep(self.seconds)
        trial.rig.link(self.node + 1, True)


class SshdGone(Outside):
    """a node takes no more logins, and no name is resolved (rig)"""

    rig, lasts, apart, code = True, (25.0, 35.0), True, None

    def act(self, trial: Any) -> None:
        trial.on(self.node, ": > /etc/hosts; iptables -I INPUT -p tcp --dport 22 --syn -j REJECT")
        time.sleep(self.seconds)
        trial.on(self.node, "iptables -D INPUT -p tcp --dport 22 --syn -j REJECT")


NODES_OWN: dict[str, type[Outside]] = named_of(globals(), Outside)
