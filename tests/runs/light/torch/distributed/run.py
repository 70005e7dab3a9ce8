"""torchrun without torch: starts a node's ranks, holds the head's port, ends them all when one fails or by a signal.

What it does is what allranks asks of torchrun: `--max-restarts=0`, ranks in sessions of their own, their variables, a
folder of its own in TMPDIR, and the table of failures at the end. It does not bring ranks together.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

END_SECONDS = 30
TABLE = """
============================================================
{script} FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : {time}
  host      : {host}
  rank      : {rank} (local_rank: {local})
  exitcode  : {code} (pid: {pid})
  error_file: <N/A>
============================================================
"""


class Signalled(Exception):
    pass


def options():
    parser = argparse.ArgumentParser()
    for name in ("--nnodes", "--nproc-per-node", "--node-rank", "--master-port", "--max-restarts"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--master-addr", required=True)
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(sys.argv[1:])


def main():
    asked = options()
    signal.signal(signal.SIGTERM, raise_it)
    signal.signal(signal.SIGINT, raise_it)
    folder = tempfile.mkdtemp(prefix="torchelastic_")
    ranks = []
    try:
        if asked.node_rank == 0:
            held = socket.socket(socket.AF_INET6)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("", asked.master_port))
            held.listen()
        for local in range(asked.nproc_per_node):
            ranks.append(begin(asked, local))
        failed = watch(ranks)
    except Signalled:
        failed = None
    else:
        if failed is None:
            return 0
    finally:
        end(ranks)
        shutil.rmtree(folder, ignore_errors=True)
    if failed is not None:
        say(asked, ranks, failed)
    return 1


def raise_it(number, frame):
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)
    raise Signalled(number)


def begin(asked, local):
    rank = asked.node_rank * asked.nproc_per_node + local
    mine = {
        "RANK": rank,
        "LOCAL_RANK": local,
        "GROUP_RANK": asked.node_rank,
        "WORLD_SIZE": asked.nnodes * asked.nproc_per_node,
        "LOCAL_WORLD_SIZE": asked.nproc_per_node,
        "MASTER_ADDR": asked.master_addr,
        "MASTER_PORT": asked.master_port,
    }
    script = ["-m", asked.script] if asked.module else [asked.script]
    words = [os.environ.get("PYTHON_EXEC", sys.executable), "-u", *script, *asked.arguments]
    environment = {**os.environ, **{name: str(value) for name, value in mine.items()}}
    return subprocess.Popen(words, env=environment, start_new_session=True)


def watch(ranks):
    """The number of the first that failed; None when all have ended well."""
    while True:
        codes = [rank.poll() for rank in ranks]
        for local, code in enumerate(codes):
            if code:
                return local
        if None not in codes:
            return None
        time.sleep(0.05)


def end(ranks):
    for rank in ranks:
        if rank.poll() is None:
            rank.terminate()
    deadline = time.monotonic() + END_SECONDS
    for rank in ranks:
        try:
            rank.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def say(asked, ranks, local):
    code, pid = ranks[local].returncode, ranks[local].pid
    binary = f"local_rank: {local} (pid: {pid}) of binary: {sys.executable}"
    print(
        f"E1122 00:00:00.000 {os.getpid()} api.py:1002] failed (exitcode: {code}) {binary}", file=sys.stderr
    )
    table = TABLE.format(
        script=asked.script,
        time=time.strftime("%Y-%m-%d_%H:%M:%S"),
        host=socket.gethostname(),
        rank=asked.node_rank * asked.nproc_per_node + local,
        local=local,
        code=code,
        pid=pid,
    )
    print(table, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
