"""Our reading of flight recorders' dumps beside torch's own analyzer, on the same dumps: never less exact."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.monitor.flight_dumps import judge, read
from tests.harness import free_port

pytestmark = pytest.mark.training  # torch is imported, and its ranks are started

RANKS = 4
EVERYBODY = "[0, 1, 2, 3]"
ANALYZE = """
import sys
from torch.distributed.flight_recorder import fr_trace
for folder in sys.argv[1:]:
    print("FOLDER", folder, flush=True)
    try:
        fr_trace.main([folder])
    except BaseException as error:
        print("FAILED", repr(error), flush=True)
"""
RANK = """
import os, sys, time, torch, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, folder, kind = dist.get_rank(), sys.argv[1], sys.argv[2]
for _ in range(3):
    dist.all_reduce(torch.ones(4))
if kind == "late" and rank != 1:
    dist.all_reduce(torch.ones(4), async_op=True)
time.sleep(0.5)
dump = torch._C._distributed_c10d._dump_fr_trace(True, False, False)
with open(f"{folder}/nccl_trace_rank_{rank}", "wb") as file:
    file.write(dump)
with open(f"{folder}/.done-{rank}", "w"):
    pass
while sum(name.startswith(".done") for name in os.listdir(folder)) < 3:
    time.sleep(0.05)
os._exit(0)
"""


def entry(
    number, state="completed", operation="nccl:all_reduce", size=4, group=("0", "default_pg"), kind="Float"
):
    """As torch 2.13 writes it."""
    return {
        "record_id": number, "pg_id": int(group[0]), "process_group": group, "collective_seq_id": number,
        "p2p_seq_id": 0, "op_id": number, "profiling_name": operation, "time_created_ns": 1795250815922941185 + number,
        "input_sizes": [[size]], "input_dtypes": [kind], "output_sizes": [[size]], "output_dtypes": [kind],
        "state": state, "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
        "retired": state == "completed", "timeout_ms": 1800000, "is_p2p": False, "thread_name": "python",
        "thread_id": "1", "frames": [],
    }  # fmt: skip


def dump(entries, config=None):
    return {
        "version": "2.10",
        "entries": [{**one, "record_id": n} for n, one in enumerate(entries)],
        "pg_config": config or {"0": {"name": "0", "desc": "default_pg", "ranks": EVERYBODY}},
        "pg_status": {},
    }


def of_all(last, odd=(), **more):
    """Everybody's dumps: four finished collectives and the fifth, which is `last` for all but the odd ranks."""
    done = [entry(n) for n in range(1, 5)]
    own = [] if more.get("late") else [entry(5, "started", **more)]
    return {rank: dump(done + (own if rank in odd else [last])) for rank in range(RANKS)}


WAITING = entry(5, "started")
PAIRS = {
    "0": {"name": "0", "desc": "default_pg", "ranks": EVERYBODY},
    "1": {"name": "1", "desc": "tp_0", "ranks": "[0, 1]"},
    "2": {"name": "2", "desc": "tp_1", "ranks": "[2, 3]"},
}


def in_pairs():
    """Rank 3 is late in its pair; ranks 0 and 1 have already gone on to a collective of all."""
    found = {}
    for rank in range(RANKS):
        group = ("1", "tp_0") if rank < 2 else ("2", "tp_1")
        pair = [entry(n, group=group) for n in (1, 2)]
        pair += {2: [entry(3, "started", group=group)], 3: []}.get(rank, [entry(3, group=group)])
        found[rank] = dump([entry(1), *pair, *([entry(2, "started")] if rank < 2 else [])], PAIRS)
    return found


CASES = {
    "one is late": (of_all(WAITING, {2}, late=True), {2}),
    "two are late": (of_all(WAITING, {1, 2}, late=True), {1, 2}),
    "the first is late": (of_all(WAITING, {0}, late=True), {0}),
    "another size": (of_all(WAITING, {2}, size=8), {2}),
    "another size on the first rank": (of_all(WAITING, {0}, size=8), {0}),
    "another collective": (of_all(WAITING, {3}, operation="nccl:broadcast"), {3}),
    "another type": (of_all(WAITING, {1}, kind="Half"), {1}),
    "a rank without a dump": ({r: d for r, d in of_all(WAITING).items() if r != 2}, {2}),
    "late in a pair": (in_pairs(), {3}),
    "all is well": (of_all(entry(5)), set()),
}


def ours(folder):
    found = judge([read(str(path), path.read_bytes()) for path in sorted(folder.glob("nccl_trace_rank_*"))])
    if found.cause == "unproven":
        return set()
    if found.where.rank is not None:
        return {found.where.rank}
    affected = {where.rank for where in found.collateral}
    return {int(n) for text in found.evidence for n in re.findall(r"^rank (\d+):", text)} - affected


def theirs(folders):
    """The ranks that torch's analyzer names, by folder; None if it ends with an error."""
    done = subprocess.run(
        [sys.executable, "-uc", ANALYZE, *map(str, folders)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    found = {}
    for part in re.split(r"(?m)^FOLDER ", done.stdout)[1:]:
        folder, _, told = part.partition("\n")
        missing = [
            int(n) for text in re.findall(r"missing ranks: \{([^}]*)\}", told) for n in text.split(",")
        ]
        named = {*missing, *map(int, re.findall(r"Culprit rank (\d+)", told))}
        found[Path(folder)] = None if "FAILED" in told else named
    return found


def test_of_rewritten_dumps_we_name_the_ranks_wherever_torch_does(tmp_path):
    folders = {}
    for name, (dumps, _) in CASES.items():
        folder = folders[name] = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        for rank, data in dumps.items():
            (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(data, protocol=2))
    found = theirs(folders.values())
    said = {name: (ours(folder), found[folder]) for name, folder in folders.items()}
    assert {name: mine for name, (mine, _) in said.items()} == {
        name: true for name, (_, true) in CASES.items()
    }
    right = [name for name, (_, other) in said.items() if other == CASES[name][1]]
    assert {"one is late", "another collective"} <= set(right)  # it was asked, and its words are understood


def test_of_real_ranks_dumps_we_name_the_late_one_as_torch_does(tmp_path):
    env = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "3",
        "OMP_NUM_THREADS": "1",
    }
    env["TORCH_FR_BUFFER_SIZE"] = "100"
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, str(tmp_path), "late"], env={**env, "RANK": str(rank)})
        for rank in range(3)
    ]
    try:
        assert [rank.wait(timeout=200) for rank in ranks] == [0, 0, 0]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    for path in tmp_path.glob(".done-*"):
        path.unlink()
    assert ours(tmp_path) == {1}
    assert theirs([tmp_path])[tmp_path] in ({1}, None, set())
