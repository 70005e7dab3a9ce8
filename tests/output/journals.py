"""Run directories as a run leaves them: healthy, broken in several ways, large. Deterministic.

`python tests/output/journals.py KIND FOLDER` writes one to look at.
"""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

START = 1795212000.0  # 2026-11-20 22:00:00 UTC
TARGETS = "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
RUN_FILE = f"""name: tiny-deepseek-v3
nodes:
  - {{name: node-0, address: 127.0.0.1}}   # the first is the head
  - {{name: node-1, address: 127.0.0.1}}
  - {{name: node-2, address: 127.0.0.1}}
same_host: true
gpus: 1
train:
  llamafactory:
    stage: sft
    model_name_or_path: demo/model
    lora_target: {TARGETS}
    lora_rank: 16
    learning_rate: 5e-3
    max_steps: 36
"""


GPU_PARTS = {
    "parameters": int(52.08 * 2**30),
    "activations": int(4.2 * 2**30),
    "optimizer": int(0.4 * 2**30),
    "runtime": int(1.1 * 2**30),
    "fragmentation": int(0.92 * 2**30),
    "total": int(58.7 * 2**30),
}


class Run:
    """A run under construction: `events` grows in the order of time."""

    def __init__(self, nodes: int = 3, gpus: int = 1, steps: int = 36, gpu: bool = False, seed: int = 7):
        self.names = [f"node-{n}" for n in range(nodes)]
        self.gpus, self.steps, self.gpu = gpus, steps, gpu
        self.ranks = nodes * gpus
        self.random = random.Random(seed)
        self.more = random.Random(seed + 1)
        self.sampled = 0.0
        self.now = START
        self.events: list[dict[str, Any]] = []
        self.log_ends: list[dict[str, Any]] = []
        self.id = "tiny-deepseek-v3-1120-2200-k7"
        self.state: dict[str, Any] = {
            "id": self.id,
            "name": "tiny-deepseek-v3",
            "file": "examples/tiny-deepseek-v3.yaml",
            "state": "succeeded",
            "phase": "report",
            "why": "",
            "step": None,
            "total_steps": steps,
            "nodes": self.names,
            "findings": [],
            "diagnosis": None,
            "adapter": None,
            "output_dir": "/home/ubuntu/.allranks/runs/x/output",
            "started_at": START,
            "ended_at": None,
        }

    def node_of(self, rank: int) -> str:
        return self.names[rank // self.gpus]

    def say(self, kind: str, data: dict[str, Any], node: str | None = None, rank: int | None = None) -> None:
        self.events.append({"at": self.now, "kind": kind, "node": node, "rank": rank, "data": data})

    def phase(self, phase: str, seconds: float, why: str = "") -> None:
        self.state["phase"] = phase
        self.say("phase", {"phase": phase, "why": why}, node=self.names[0])
        self.now += seconds

    def finding(self, **values: Any) -> None:
        where = {
            "node": None,
            "rank": None,
            "gpu": None,
            "file": None,
            "line": None,
            **values.pop("where", {}),
        }
        base = {"expected": "", "why": "", "fix": "", "evidence": [], "blocks": True, "saw": ""}
        data = {**base, **values, "where": where}
        self.state["findings"].append(data)
        self.say("finding", data, node=self.names[0])

    # ---- phases ----

    def check(self) -> None:
        self.phase("check", 0.2)
        for node in self.names:
            for check in ("environment-imports", "ports-free", "disk-space"):
                self.finding(id=check, verdict="ok", where={"node": node}, saw="fine")
        self.finding(
            id="heartbeat-overhead",
            verdict="note",
            where={"file": "examples/tiny-deepseek-v3.yaml", "line": 11},
            saw="train.llamafactory.learning_rate: 0.005 is 50 times what LoRA runs use.",
            why="meant here: the loss of 36 steps must visibly fall.",
        )
        for node in self.names:
            self.finding(
                id="same-host",
                verdict="note",
                where={"node": node},
                saw="shares its host with the other nodes.",
                why="their memory and processors are the same ones; times say nothing about a cluster.",
            )
        self.now += 4.1
        self.phase("prepare", 0.8)

    def launch(self) -> None:
        self.phase("launch", 1.9)
        for node in self.names:
            self.say("joined", {}, node=node)
            self.say("supervisor", {"process": {"pid": 4000}, "clock": self.now}, node=node)
        self.say("state", {"state": "running", "why": ""}, node=self.names[0])
        self.phase("watch", 0.3)
        for rank in range(self.ranks):
            self.start(rank)
        for second in range(9):
            for rank in range(self.ranks):
                phase = "importing" if second < 5 else "loading" if second < 8 else "preparing"
                data = {"phase": phase, "step": 0, "total_steps": None, "steps": []}
                if phase == "loading":
                    data.update(shard=2 * (second - 4), shards=7)
                self.beat(rank, data, (80 + 70 * second) * 2**20, 0)
            self.now += 1.0
        for rank in range(self.ranks):
            self.settings(rank)

    def start(self, rank: int) -> None:
        local = rank % self.gpus
        gpu = {}
        if self.gpu:
            gpu = {
                "name": "NVIDIA A100-SXM4-80GB",
                "uuid": f"GPU-{rank:08x}-aaaa",
                "bus_id": f"0000:{local:02x}:00.0",
            }
        data = {
            "pid": 41000 + rank,
            "start_time": 123456,
            "boot_id": "b00t",
            "host": self.node_of(rank),
            "local_rank": local,
            "world_size": self.ranks,
            "python": "3.11.2",
            "torch": "2.13.0",
            "gpu": gpu,
            "versions": {
                "transformers": "5.6.0",
                "deepspeed": "0.19.8",
                "peft": "0.18.1",
                "llamafactory": "0.9.5",
            },
        }
        self.say("start", data, self.node_of(rank), rank)

    def settings(self, rank: int) -> None:
        data = {
            "trainable_parameters": 28032,
            "total_parameters": 334288,
            "zero_stage": 3,
            "reduce_bucket_size": 4096,
            "prefetch_bucket_size": 3686,
            "micro_batch": 1,
            "accumulation": 1,
            "world_size": self.ranks,
            "total_steps": self.steps,
            "samples": 108,
            "epochs": 1.0,
            "precision": "bf16",
            "framework": "llamafactory",
        }
        self.say("settings", data, self.node_of(rank), rank)

    def beat(self, rank: int, data: dict[str, Any], rss: float, gpu_bytes: float) -> None:
        data = {**data, "rss_bytes": int(rss)}
        if self.gpu:
            data.update(gpu_bytes=int(gpu_bytes), gpu_peak_bytes=int(gpu_bytes * 1.04))
        self.say("beat", data, self.node_of(rank), rank)

    def train(
        self, until: int | None = None, slow_rank: int | None = None, dies: tuple[int, int] | None = None
    ) -> None:
        """Steps up to `until`; a beat each second. `dies` is (rank, step)."""
        until = self.steps if until is None else until
        pending: list[list[Any]] = []
        last = self.now
        for step in range(1, until + 1):
            seconds = (
                0.21
                + 0.03 * self.random.random()
                + (0.4 if step == 1 else 0)
                + (0.25 if step % 12 == 0 else 0)
            )
            loss = 4.2 + 2.75 * math.exp(-step / (0.4 * self.steps)) + 0.05 * self.random.gauss(0, 1)
            self.now += seconds
            pending.append([step, loss, seconds, 0.012, 512, 5e-3 * (1 - (step - 1) / self.steps)])
            if self.now - last >= 1.0 or step == until:
                self.beats(pending, slow_rank, dies)
                pending, last = [], self.now
            if step % 12 == 0:
                self.say("saving", {"step": step, "path": f"output/checkpoint-{step}"}, self.names[0], 0)
                self.now += 0.06
                self.say(
                    "saved",
                    {"step": step, "path": f"output/checkpoint-{step}", "seconds": 0.06},
                    self.names[0],
                    0,
                )
        self.state["step"] = until

    def beats(self, pending: list[list[Any]], slow_rank: int | None, dies: tuple[int, int] | None) -> None:
        for rank in range(self.ranks):
            rows = [
                [
                    step,
                    loss if rank == 0 else None,
                    seconds * (1 + 0.01 * self.random.random()),
                    data * (1 + self.random.random()) + (0.12 if rank == slow_rank else 0),
                    tokens + 3 * rank,
                    rate,
                    0.6 * seconds * (1 + 0.02 * self.more.random()) + (0.12 if rank == slow_rank else 0),
                    (0.4 + 1.5 * math.exp(-step / 20) + 0.1 * self.more.random()) if rank == 0 else None,
                ]
                for step, loss, seconds, data, tokens, rate in pending
                if dies is None or rank != dies[0] or step <= dies[1]
            ]
            if dies is not None and rank == dies[0] and not rows:
                continue
            memory = (742 + 3 * rank + self.random.random() * 4) * 2**20
            step = rows[-1][0] if rows else pending[-1][0]
            data = {"phase": "training", "step": step, "total_steps": self.steps, "steps": rows}
            self.beat(rank, data, memory, (60.1 + 0.05 * rank) * 2**30)
        if self.gpu and self.now - self.sampled > 5.0:
            self.sampled = self.now
            for place, node in enumerate(self.names):
                self.sample(place, node)

    def sample(self, place: int, node: str) -> None:
        """What a supervisor sees of its node."""
        gpus = [
            {
                "uuid": f"GPU-{self.gpus * place + n:08x}-aaaa",
                "index": n,
                "utilization": self.more.randint(90, 99),
                "temperature": self.more.randint(58, 66) + 12 * (place == 2),
                "power_watts": 280.0 + 40 * self.more.random(),
                "memory_bytes": 66 * 2**30,
            }
            for n in range(self.gpus)
        ]
        rate = int((2.1 + 0.4 * self.more.random()) * 2**30)
        nics = [
            {"name": "ib0", "received_bytes_per_second": rate, "sent_bytes_per_second": rate, "errors": 0}
        ]
        self.say(
            "sample", {"gpus": gpus, "nics": nics, "cpu": {"busy": 0.2 + 0.1 * self.more.random()}}, node
        )

    def finish(self) -> None:
        for rank in range(self.ranks):
            self.say("end", {"code": 0}, self.node_of(rank), rank)
        for node in self.names:
            self.say("torchrun-ended", {"code": 0, "failures": []}, node)
        self.now += 0.4
        self.phase("verify", 0.2)
        self.finding(
            id="adapter-whole", verdict="ok", where={"node": self.names[0]}, saw="30 tensors, as expected"
        )
        self.phase("prove", 5.2)
        adapter = {
            "path": "/home/ubuntu/.allranks/runs/x/output",
            "tensors": 30,
            "parameters": 28032,
            "step": self.steps,
            "whole": True,
            "changed": True,
            "max_difference": 0.1834,
            "sha256": "9f2c41d08c7a6be1d04c8a21c7f90b1d6f0a5e3b2c1d4e5f60718293a4b5c6d7",
            "bytes": 116064,
        }
        self.state["adapter"] = adapter
        self.say("adapter", adapter, self.names[0])
        self.phase("prune", 0.05)
        self.say("pruned", {"removed": ["output/checkpoint-12"], "freed_bytes": 1_300_000}, self.names[0])
        self.end("succeeded")

    def end(self, state: str, why: str = "") -> None:
        self.state.update(state=state, why=why, ended_at=self.now)
        self.say("state", {"state": state, "why": why}, self.names[0])

    def blame(self, **diagnosis: Any) -> None:
        """The verdict, and the finding that it is."""
        diagnosis["first_seen"] = self.now - 5.6
        self.state["diagnosis"] = diagnosis
        self.say("diagnosis", diagnosis, "node-0")
        where = {name: diagnosis["where"][name] for name in ("node", "rank")}
        said = {name: diagnosis[name] for name in ("why", "fix", "evidence")}
        self.finding(
            id=diagnosis["cause"], verdict="block", where=where, saw=diagnosis["evidence"][0], **said
        )

    # ---- files ----

    def plan(self) -> dict[str, Any]:
        ranks = [
            {"rank": r, "node": self.node_of(r), "node_rank": r // self.gpus, "local_rank": r % self.gpus}
            for r in range(self.ranks)
        ]
        return {
            "run": self.state["name"],
            "ranks": ranks,
            "environment": {"all": {"OMP_NUM_THREADS": "1"}, "nodes": {}},
            "trainable_parameters": 28032,
            "total_parameters": 306256,
            "memory": {
                "gpu_bytes": GPU_PARTS if self.gpu else {},
                "gpu_usable_bytes": 79 * 2**30 if self.gpu else None,
                "host_parts": {"train": 700 * 2**20},
                "host_bytes": 700 * 2**20,
                "verdict": "fits",
            },
            "traffic": {"received_bytes_per_step": 816_000},
            "deepspeed": {"zero_optimization": {"stage": 3, "reduce_bucket_size": 4096}},
            "digest": "5d41402abc4b2a76b9719d911017c592",
        }

    def job(self, node: str) -> dict[str, Any]:
        place = self.names.index(node)
        python = "/home/ubuntu/env/bin/python"
        return {
            "run_id": self.id,
            "node": node,
            "node_rank": place,
            "ranks": list(range(place * self.gpus, (place + 1) * self.gpus)),
            "world_size": self.ranks,
            "argv": [
                *[python, "-m", "torch.distributed.run", f"--nnodes={len(self.names)}"],
                *[f"--nproc-per-node={self.gpus}", f"--node-rank={place}", "--master-addr=127.0.0.1"],
                *["--master-port=39500", "--max-restarts=0", "-m", "llamafactory.launcher", "--stage", "sft"],
                *["--lora_target", TARGETS, "--learning_rate", "0.005", "--max_steps", str(self.steps)],
            ],
            "env": {
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                "OMP_NUM_THREADS": "1",
                "GLOO_SOCKET_IFNAME": "lo",
                "ALLRANKS_OUTPUT_DIR": "/home/ubuntu/.allranks/runs/x/output",
                "HF_TOKEN": "redacted",
            },
            "secrets": ["HF_TOKEN"],
            "keep": {"adapter": {"tensors": 30}} if place == 0 else None,
            "cwd": f"/home/ubuntu/.allranks/runs/x/nodes/{node}/work",
        }

    def write(self, folder: Path) -> Path:
        (folder / "keeper").mkdir(parents=True, exist_ok=True)
        put(folder / "plan.json", self.plan())
        put(folder / "run.json", {"file": self.state["file"], "text": RUN_FILE, "from": "laptop"})
        put(folder / "keeper" / "state.json", self.state)
        if self.log_ends:
            put(folder / "keeper" / "log-ends.json", {"logs": self.log_ends})
        for node in self.names:
            (folder / "nodes" / node / "logs").mkdir(parents=True, exist_ok=True)
            put(folder / "nodes" / node / "job.json", self.job(node))
        lines = "".join(json.dumps(event) + "\n" for event in self.events)
        (folder / "keeper" / "journal.jsonl").write_text(lines)
        return folder


def put(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data))


def healthy(**shape: Any) -> Run:
    """3 nodes × 1 rank × 36 steps, a verified adapter."""
    run = Run(**shape)
    run.check()
    run.launch()
    run.train()
    run.finish()
    return run


def killed() -> Run:
    """Rank 1 is killed after step 13; the other torchruns name their own ranks."""
    run = Run()
    run.check()
    run.launch()
    run.train(until=13, dies=(1, 13))
    run.now += 0.3
    run.say("rank-gone", {"pid": 41001, "code": -9}, "node-1", 1)
    for rank in (0, 2):
        data = {"type": "RuntimeError", "message": "[gloo] Connection closed by peer", "frames": []}
        run.say("exception", {**data, "communication": True}, run.node_of(rank), rank)
    run.now += 1.2
    for rank in range(3):
        failures = [{"rank": rank, "local_rank": 0, "pid": 41000 + rank, "code": -9 if rank == 1 else 1}]
        run.say("torchrun-ended", {"code": 1, "failures": failures}, run.node_of(rank))
    run.now += 3.0
    run.phase("stop", 1.1, "the run failed")
    died(run)
    run.phase("prune", 0.02)
    run.end("failed", "the run failed")
    return run


TRACEBACK = """Traceback (most recent call last):
  File "/home/ubuntu/env/lib/python3.11/site-packages/transformers/trainer.py", line 2328, in train
    return inner_training_loop(
  File "/home/ubuntu/team/collate.py", line 41, in __call__
    labels = [self.names[row["label"]] for row in rows]
  File "/home/ubuntu/env/lib/python3.11/site-packages/torch/utils/data/dataset.py", line 9, in __getitem__
    return self.tensors[index]
KeyError: 'neutral <b>'"""


def stalled() -> Run:
    """24 ranks; rank 13 stands in its own code from step 40 on, the others wait for it in a collective."""
    run = Run(nodes=3, gpus=8, steps=400, gpu=True)
    run.check()
    run.launch()
    run.train(until=40)
    run.now += 20.0
    run.say("evidence", {"why": "nothing has moved for 20 s"}, "node-0")
    site = "/home/ubuntu/env/lib/python3.11/site-packages"
    start = [["/home/ubuntu/team/train.py", 200, "main"], [f"{site}/transformers/trainer.py", 2328, "train"]]
    waits = [[f"{site}/torch/distributed/distributed_c10d.py", 2810, "all_reduce"]]
    for rank in range(24):
        own = (
            [["/home/ubuntu/team/collate.py", 88, "open_shard"], ["<frozen io>", 1, "read"]]
            if rank == 13
            else waits
        )
        run.say("stack", {"frames": start + own, "by": "inside"}, run.node_of(rank), rank)
    run.now += 2.0
    run.phase("stop", 1.1, "the run failed")
    where = {"node": "node-1", "rank": 13, "gpu": None, "file": "/home/ubuntu/team/collate.py", "line": 88}
    run.blame(
        cause="rank-holds-up",
        confidence="certain",
        where=where,
        evidence=["rank 13 has not moved for 20 s: it is at /home/ubuntu/team/collate.py:88 in open_shard."],
        collateral=[
            {**where, "node": run.node_of(n), "rank": n, "file": None, "line": None}
            for n in range(24)
            if n != 13
        ],
        why="the 23 other ranks wait for it in the same all_reduce.",
        fix="look at that line: a file or a server that does not answer.",
    )
    run.say("kernel", {"lines": ["nfs: server 10.0.0.9 not responding, still trying"], "why": ""}, "node-1")
    run.state["saved"] = {"step": 36, "path": "output/checkpoint-36"}
    run.log_ends = [
        {"node": "node-1", "name": "rank-13.log", "rank": 13, "lines": [f"step {n}" for n in range(60)]}
    ]
    run.end("failed", "the run failed")
    return run


def died(run: Run) -> None:
    where = {"node": "node-1", "rank": 1, "gpu": None, "file": None, "line": None}
    run.blame(
        cause="rank-killed",
        confidence="certain",
        where=where,
        evidence=[
            "rank 1 (pid 41001) was ended by signal 9 (SIGKILL) after step 13.",
            "node-1 torchrun: exitcode: -9 (pid: 41001)",
        ],
        collateral=[{**where, "node": "node-0", "rank": 0}, {**where, "node": "node-2", "rank": 2}],
        why="no process sends it to itself: a person, a scheduler, or the kernel when memory runs out.",
        fix="on node-1: journalctl -k --since -10m | grep -i 'out of memory'; then allranks run --resume",
    )
    run.say("kernel", {"lines": [], "why": ""}, "node-1")
    path = "/home/ubuntu/.allranks/runs/x/output/checkpoint-12"
    run.state["adapter"] = {"path": path, "step": 12, "whole": True, "tensors": 30, "parameters": 28032}
    lines = [*(f"step {n}" for n in range(20)), *TRACEBACK.splitlines()]
    run.log_ends = [{"node": "node-1", "name": "rank-1.log", "rank": 1, "lines": lines}]


def large() -> Run:
    """24 ranks on GPUs, 400 steps, rank 13 waits for its data, node-1 has another driver's versions."""
    run = Run(nodes=3, gpus=8, steps=400, gpu=True)
    run.check()
    run.finding(
        id="versions-equal",
        verdict="warn",
        where={"node": "node-1"},
        saw="deepspeed 0.19.7, the others have 0.19.8.",
        why="2 of 3 nodes agree; different versions have ended in different collectives before.",
        fix="pip install deepspeed==0.19.8 on node-1",
    )
    run.launch()
    run.train(slow_rank=13)
    for event in run.events:
        if event["kind"] == "start" and event["node"] == "node-1":
            event["data"]["versions"] = {**event["data"]["versions"], "deepspeed": "0.19.7"}
    run.finish()
    return run


def before_start() -> Run:
    """A check blocks: no rank ever started."""
    run = Run()
    run.check()
    run.finding(
        id="node-did-not-join",
        verdict="block",
        where={"node": "node-2"},
        saw="its supervisor did not reach the keeper at 10.18.122.130:39501 within 60 s.",
        why="no rank was started anywhere: the others would wait for this node until a time-out.",
        fix="allranks logs tiny-deepseek-v3-1120-2200-k7 --node node-2; check that the head's port is open to it.",
    )
    run.phase("launch", 60.0)
    run.end("failed", "a node did not join")
    return run


def diverged() -> Run:
    """The loss is not a number from step 20 on."""
    run = healthy()
    for event in run.events:
        for row in event["data"].get("steps", ()):
            if row[0] >= 20 and row[1] is not None:
                row[1] = math.nan if row[0] % 2 else math.inf
    return run


KINDS = {f.__name__.replace("_", "-"): f for f in (healthy, killed, large, before_start, diverged, stalled)}


if __name__ == "__main__":
    print(KINDS[sys.argv[1]]().write(Path(sys.argv[2])))
