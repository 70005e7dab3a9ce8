"""Imitates what stands below a supervisor: torchrun, ranks, data loaders, daemons. No torch.

`actor.py FOLDER SPEC`: SPEC is JSON. A process writes its pid and start time to FOLDER/<name>, starts its
children, does what it is told and waits. Keys: name; children: specs; until: a file that must be there before
they begin; setsid; daemon: fork twice with setsid between; bare: exec with an empty environment; erase:
overwrite the environment's memory; deaf: ignore SIGTERM; rank: write a start event; print: text; exit: code;
kill: signal to itself; wait: seconds before exit or kill; leave: end as soon as the children have begun.
"""

import ctypes
import json
import os
import signal
import sys
import time


def main():
    folder, spec = sys.argv[1], json.loads(sys.argv[2])
    if spec.pop("bare", False):
        os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, folder, json.dumps(spec)], {})
    act(folder, spec)


def act(folder, spec):
    if spec.get("setsid"):
        os.setsid()
    if spec.get("daemon"):
        daemonize()
    if spec.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if spec.get("erase"):
        erase()
    began = start_time()
    with open(os.path.join(folder, spec["name"] + ".new"), "w") as file:
        json.dump({"pid": os.getpid(), "start_time": began, "session": os.getsid(0)}, file)
    os.rename(os.path.join(folder, spec["name"] + ".new"), os.path.join(folder, spec["name"]))
    if "print" in spec:
        print(spec["print"], flush=True)
    if "rank" in spec:
        tell(spec["rank"], began)
    while "until" in spec and not os.path.exists(spec["until"]):
        time.sleep(0.01)
    for child in spec.get("children", ()):
        begin(folder, child)
    if spec.get("leave"):
        os._exit(0)
    time.sleep(spec.get("wait", 0))
    if "kill" in spec:
        os.kill(os.getpid(), spec["kill"])
    if "exit" in spec:
        os._exit(spec["exit"])
    while True:
        time.sleep(60)


def begin(folder, child):
    if os.fork() == 0:
        if child.pop("bare", False):
            os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, folder, json.dumps(child)], {})
        act(folder, child)


def daemonize():
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def erase():
    """Overwrites what /proc/PID/environ shows, as programs that set their title do."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, end = int(fields[47]), int(fields[48])
    ctypes.memset(begin, 0, end - begin)


def start_time():
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def tell(rank, began):
    data = {"pid": os.getpid(), "start_time": began, "local_rank": 0}
    event = {"at": time.time(), "kind": "start", "node": None, "rank": rank, "data": data}
    with open(os.path.join(os.environ["ALLRANKS_RANKS_DIR"], f"rank-{rank}.jsonl"), "a") as file:
        file.write(json.dumps(event) + "\n")


main()
