"""All kinds of fault of `benchmarks/faults.py`: how each is made, and what is right to say of it.

What cannot come to the head: a head without power, network or supervisor takes the keeper with it or cuts it off from
all others. That is another trial (`keeper`, `head-off`, `head-cable`): the other nodes end by their leases, and nobody
stops them. Closed ports of the head close the rendezvous, and are another fault than those of data. The output of a
run lies on the head, so a fault of its file system is one of the head.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._fault import HEAD, OTHERS, Fault, Inject, Right, right

if TYPE_CHECKING:
    from benchmarks._fault_nodes import Nodes

_V1 = Path("/sys/fs/cgroup/memory").is_dir()
OOM_GROUP = f"/sys/fs/cgroup{'/memory' * _V1}/allranks-bench-{{name}}"
OOM_LIMIT = "memory.limit_in_bytes" if _V1 else "memory.max"
LEASE_SECONDS = 30.0
DISK = "{folder}/disk"
EXT4 = "make() { truncate -s 8G $1 && mkfs.ext4 -q -m 0 $1; }; make"


def supervisor_of(nodes: Nodes, run: dict[str, Any], number: int) -> str:
    path = f"{run['directory']}/nodes/node{number}/supervisor.json"
    return str(json.loads(nodes.run(number, ["cat", path]).stdout)["pid"])


def kill_supervisor(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    nodes.run(number, ["kill", "-9", supervisor_of(nodes, run, number)])


def pause_supervisor(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    pid = supervisor_of(nodes, run, number)
    nodes.run(number, ["sh", "-c", f"kill -STOP {pid}; sleep 15; kill -CONT {pid}"])


def without_power(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    """The cable first: a machine without power sends no FIN for its sockets, a killed namespace does."""
    nodes.rig.link(number, False)
    nodes.rig.power_off(number)


def two_without_power(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    for other in OTHERS:
        without_power(nodes, run, other)


def unplugged(seconds: float = 0.0, times: int = 1) -> Inject:
    """The cable is pulled, and plugged again after some seconds; so often."""

    def inject(nodes: Nodes, run: dict[str, Any], number: int) -> None:
        for _ in range(times):
            nodes.rig.link(number, False)
            if seconds:
                time.sleep(seconds)
                nodes.rig.link(number, True)
                time.sleep(seconds)

    return inject


def no_way_to_the_keeper(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    """The keeper's port alone: ranks still reach each other."""
    record = json.loads(nodes.run(HEAD, ["cat", f"{run['directory']}/keeper/keeper.json"]).stdout)
    rule = ["OUTPUT", "-o", "eth0", "-p", "tcp", "--dport", str(record["port"]), "-j", "DROP"]
    nodes.run(number, ["iptables", "-A", *rule])


def apart(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    """The two that are not the head lose each other, and both still reach the head."""
    other = next(n for n in OTHERS if n != number)
    for way in (("INPUT", "-s"), ("OUTPUT", "-d")):
        nodes.run(number, ["iptables", "-A", *way, nodes.address(other), "-j", "DROP"])


def remove_run_folder(nodes: Nodes, run: dict[str, Any], number: int) -> None:
    nodes.run(number, ["rm", "-rf", run["directory"]])


def on_node(*command: str) -> Inject:
    return lambda nodes, run, number: nodes.run(number, list(command))


LOSE = ("iptables", "-A", "OUTPUT", "-o", "eth0")
ALL = ("start", "first", "steady", "saving")
UP = ("rank-holds-up", "collective-timeout-straggler")
STOPPED = (Right(("rank-silent",)), Right(UP, "stopped by a signal"))
SILENT = (Right(("rank-silent",)), Right(UP))
GONE = (Right(("node-lost", "node-failure")),)
CUT_OFF = (*GONE, Right(("lease-lost", "peer-node-network-broken")))
FROZEN = (Right(("storage-frozen", "nfs-stale-or-io-error")), Right(UP, "waiting for storage"))
CRASHED = "rank-crashed-first"


def crashed(words: str, line: str = "") -> Fault:
    """An exception of its own, with its words."""
    return Fault(right(CRASHED, words=words, line=line), 2.0)


def stuck(line: str) -> Fault:
    """A rank that does not come to the others' collective, with its line."""
    return Fault(right(*UP, line=line), 15.0, stands=True)


FAULTS: dict[str, Fault] = {
    # ---- a rank that ends ----
    "sigkill": Fault(right("rank-sigkilled"), 2.0, core=True, phases=ALL),
    "exception": Fault(
        right(CRASHED, words="the label of sample 7 is -1", line='ValueError("the label'),
        2.0,
        core=True,
        phases=ALL,
    ),
    "exit0": Fault(right("rank-exited-early"), 15.0, core=True, phases=("first", "steady")),
    "leaves": Fault(right("rank-exited-early"), 15.0),
    "exit3": Fault(right(CRASHED, words="code 3"), 2.0),
    "sigterm": Fault(right("rank-terminated", words="SIGTERM"), 15.0, core=True),
    "sigsegv": crashed("SIGSEGV"),
    "sigabrt": crashed("SIGABRT"),
    "sigusr1": crashed("SIGUSR1"),
    "sigfpe": crashed("SIGFPE"),
    "sigbus": crashed("SIGBUS"),
    "sigint": Fault(
        (Right((CRASHED,), "KeyboardInterrupt"), Right(("rank-terminated",), "SIGINT|Keyboard")), 2.0
    ),
    "bad-free": crashed("SIGABRT"),
    "closed-files": Fault((Right((CRASHED,)), Right(("too-many-open-files",))), 15.0),
    "torchrun-killed": Fault(right("torchelastic-signal", words="SIGKILL"), 2.0, rank=False),
    "torchrun-ended": Fault(right("torchelastic-signal", words="SIGTERM"), 5.0, rank=False),
    "loader-killed": Fault(right("dataloader-worker-killed"), 2.0, env={"LOADER_WORKERS": "1"}),
    # ---- an exception of one rank ----
    "exception-everywhere": Fault(
        right(CRASHED, words="all 3 ranks raise it at the same place"), 2.0, everywhere=True
    ),
    "recursion": crashed("RecursionError", line="return deeper(level + 1)"),
    "bad-text": crashed("UnicodeDecodeError", line="caf"),
    # A line of data that cannot be parsed is what the page of dataset-format-error is about: it says no less than the
    # exception's name. The exception and the line must be named either way.
    "bad-json": Fault(right(CRASHED, "dataset-format-error", words="JSONDecodeError", line="cut o"), 2.0),
    "bad-shape": crashed("mat1 and mat2", line="torch.zeros(4, 8)"),
    "no-group": crashed("[Pp]rocess group"),
    "memory-error": Fault(right(CRASHED, "cpu-oom-killed", words="MemoryError", line="1 << 60"), 2.0),
    "gpu-oom": Fault(right("cuda-oom"), 2.0),
    "too-many-files": Fault(right("too-many-open-files"), 2.0),
    "no-variable": Fault(right(CRASHED, words="DATA_ROOT_OF_NODE"), 2.0, phases=("start",)),
    "no-module": Fault(right("missing-python-module"), 2.0, phases=("start",)),
    "no-data-file": Fault(right("dataset-file-missing-on-node"), 2.0, phases=("start",)),
    "bad-argument": Fault(right(CRASHED, words="invalid float value: 'fast'"), 2.0, phases=("start",)),
    "bad-checkpoint": Fault(right("checkpoint-corrupt-resume-fail"), 2.0, phases=("start",)),
    "checkpoint-removed": Fault(
        right(CRASHED, words="checkpoint-.*adapter_config.json"), 2.0, phases=("saving",)
    ),
    # ---- collectives ----
    "mismatch": Fault(
        (
            Right(("collective-mismatch",), line="dist.broadcast("),
            Right(("rank-holds-up", "collective-differs"), " in .*, the others in "),
        ),
        15.0,
        core=True,
    ),
    "barrier": Fault(right("collective-mismatch", *UP), 15.0),
    "size": Fault(right("collective-mismatch"), 15.0),
    "time-out": Fault(
        (Right(("collective-timeout-straggler",)), Right(UP)), 15.0, env={"GROUP_SECONDS": "8"}
    ),
    # ---- a rank that stands still ----
    "sigstop": Fault(STOPPED, 15.0, core=True, phases=("steady", "saving")),
    "sleep": stuck('ACTS["sleep"]'),
    "loader": Fault(right(*UP, "waits-for-data", words="its data"), 15.0, stands=True),
    "lock": stuck("held.acquire()  # never"),
    "endless": Fault(right(*UP, words="in endless"), 15.0, stands=True),
    "child": stuck('subprocess.run(["sleep", "3600"]'),
    "pipe": stuck('"queue").read_text()'),
    "gil": Fault(SILENT, 15.0),
    "exec": Fault(SILENT, 15.0),
    # ---- figures ----
    "nan": Fault(right("loss-nan"), 5.0),
    "slow": Fault(right("straggler"), 60.0, stands=True, only_alone=True),
    "other-model": Fault(right("replicas-differ"), 30.0, stands=True, phases=("start",)),
    # ---- memory and disks ----
    "oom": Fault(
        right("cpu-oom-killed"),
        15.0,
        before=(f"mkdir -p {OOM_GROUP} && echo 1G > {OOM_GROUP}/{OOM_LIMIT}",),
        after=(f"rmdir {OOM_GROUP}",),
        env={"OOM_GROUP": OOM_GROUP},
    ),
    "disk": Fault(
        right("disk-full-checkpoint"),
        2.0,
        phases=("saving",),
        before=(f"{EXT4} {{folder}}/d && mkdir -p {DISK} && mount {{folder}}/d {DISK}",),
        after=(f"umount -l {DISK}",),
        env={"SAVE_TO": DISK, "FULL_DISK": DISK},
        nodes=(HEAD,),
    ),
    "frozen-output": Fault(
        FROZEN,
        15.0,
        lambda nodes, run, number: nodes.run(number, ["fsfreeze", "-f", f"{nodes.folder}/disk"]),
        rank=False,
        stands=True,
        rig=True,
        phases=("saving",),
        before=(f"{EXT4} /run/d && mkdir -p {DISK} && mount /run/d {DISK}",),
        after=(f"fsfreeze -u {DISK}",),
        env={"SAVE_TO": DISK},
        nodes=(HEAD,),
    ),
    # ---- nodes and networks ----
    "power-off": Fault(
        GONE, 15.0, without_power, rank=False, rig=True, off=True, core=True, phases=ALL, nodes=OTHERS
    ),
    "two-off": Fault(
        GONE,
        15.0,
        two_without_power,
        rank=False,
        rig=True,
        off=True,
        nodes=(2,),
        also=(3,),
        count=4,
        only_alone=True,
    ),
    "link-down": Fault(
        CUT_OFF, 15.0, unplugged(), rank=False, rig=True, cut=True, phases=("steady", "saving"), nodes=OTHERS
    ),
    "one-way": Fault(
        CUT_OFF, 15.0, on_node(*LOSE, "-j", "DROP"), rank=False, rig=True, cut=True, nodes=OTHERS
    ),
    "keeper-port": Fault(
        CUT_OFF, 15.0, no_way_to_the_keeper, rank=False, rig=True, cut=True, plain=False, nodes=OTHERS
    ),
    "apart": Fault(
        right("no-progress", "peer-node-network-broken", words="node2 and node3 do not reach each other"),
        30.0,
        apart,
        rank=False,
        everywhere=True,
        rig=True,
        stands=True,
        nodes=(2,),
        also=(3,),
        only_alone=True,
    ),
    "head-cable": Fault(
        right("head-cut-off", "node-failure"),
        120.0,
        unplugged(LEASE_SECONDS + 25.0),
        rank=False,
        rig=True,
        cut=True,
        nodes=(HEAD,),
    ),
    "ports-blocked": Fault(
        right("data-ports-closed", "data-ports-blocked", "gloo-connect-full-mesh"),
        60.0,
        rank=False,
        rig=True,
        phases=("start",),
        before=("iptables -A INPUT -p tcp --syn --dport 1024:65535 -j REJECT",),
        nodes=OTHERS,
    ),
    "slow-link": Fault(
        (),
        0.0,
        # 200 packets a second: netem is not in every kernel, the match is.
        on_node(
            *LOSE, "-m", "hashlimit", "--hashlimit-above", "200/s", "--hashlimit-name", "slow", "-j", "DROP"
        ),
        goes_on=True,
        rig=True,
    ),
    "packet-loss": Fault(
        (),
        0.0,
        on_node(*LOSE, "-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"),
        goes_on=True,
        rig=True,
    ),
    "link-flaps": Fault((), 0.0, unplugged(3.0, 3), goes_on=True, rig=True, nodes=OTHERS),
    "run-folder": Fault(
        (Right(("folder-gone",)),),
        0.0,
        remove_run_folder,
        rank=False,
        goes_on=True,
        rig=True,
        plain=False,
        nodes=OTHERS,
    ),
    # ---- the product's own processes ----
    "supervisor": Fault(
        right("supervisor-lost"), 15.0, kill_supervisor, rank=False, plain=False, nodes=OTHERS
    ),
    "supervisor-paused": Fault(
        GONE, 0.0, pause_supervisor, rank=False, goes_on=True, plain=False, nodes=OTHERS
    ),
    "torchrun-stopped": Fault((), 0.0, goes_on=True),
    "controller": Fault(
        (), 0.0, lambda nodes, run, number: run["controller"].kill(), goes_on=True, plain=False
    ),
    "keeper": Fault(
        right("supervisor-lost"), 60.0, kill_supervisor, rank=False, lost=True, plain=False, nodes=(HEAD,)
    ),
    "head-off": Fault(
        right("node-failure"),
        60.0,
        without_power,
        rank=False,
        rig=True,
        off=True,
        lost=True,
        plain=False,
        nodes=(HEAD,),
    ),
}
