"""Draws docs/ui.png and docs/ui-stall.png: the live page of two runs that nobody trained, in Debian's chromium.

make ui-pictures
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from allranks.node.files import write_json
from allranks.node.paths import RunDirectory
from allranks.node.processes import identify, record_of
from tests.harness.browser import Browser
from tests.output import journals

DOCS = Path(__file__).resolve().parent.parent / "docs"
STEPS, DONE = 400, 310
COLLECTIVE = [
    ["/work/train.py", 88, "main"],
    ["/work/train.py", 61, "step"],
    ["/env/lib/python3.11/site-packages/deepspeed/runtime/engine.py", 2213, "backward"],
    ["/env/lib/python3.11/site-packages/deepspeed/comm/comm.py", 520, "reduce_scatter_fn"],
    [
        "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
        4164,
        "reduce_scatter_tensor",
    ],
]
READING = [
    ["/work/train.py", 88, "main"],
    ["/work/train.py", 57, "step"],
    ["/work/data.py", 34, "next_batch"],
    ["/work/data.py", 19, "read_shard"],
]


def trained() -> Any:
    """24 GPUs, of which one waits for its data; it is at work."""
    run = journals.Run(nodes=3, gpus=8, steps=STEPS, gpu=True)
    run.check()
    run.launch()
    run.train(until=DONE, slow_rank=13)
    return run


def samples(run: Any) -> None:
    """What nvidia-smi and the trainer tell besides."""
    pick = random.Random(3)
    for event in run.events:
        if event["kind"] == "beat":
            for row in event["data"]["steps"]:
                lead = event["rank"] == 0
                row += [
                    row[2] - row[3] - 0.05,
                    0.35 + math.exp(-row[0] / 60) + 0.08 * pick.random() if lead else None,
                ]
    for place, node in enumerate(run.names):
        gpus = [
            {
                "uuid": f"GPU-{8 * place + n:08x}-aaaa",
                "index": n,
                "utilization": 93 + n % 4,
                "temperature": 58 + 2 * n + 4 * place,
                "power_watts": 310 + 9 * n,
            }
            for n in range(8)
        ]
        run.say("sample", {"gpus": gpus}, node)


def stalled() -> Any:
    run = trained()
    run.now += 120
    why = "no rank has taken a step for 118 s"
    run.finding(
        id="no-progress",
        verdict="warn",
        where={"node": "node-1", "rank": 13},
        saw="the run stands still: rank 13 on node-1 reads data, the 23 others wait for it in reduce_scatter.",
        why="it has been in read_shard at /work/data.py:19 for 118 s.",
        fix="on node-1: is the file system under /data slow? timeout 10 ls /data",
    )
    run.say("evidence", {"why": why}, "node-0")
    for rank in range(24):
        frames = READING if rank == 13 else COLLECTIVE
        run.say("stack", {"frames": frames, "by": "inside"}, run.node_of(rank), rank)
    return run


def write(run: Any, run_id: str, name: str) -> str:
    """Into the home, as a run whose keeper (this process) was heard a second ago."""
    samples(run)
    run.id = run.state["id"] = run_id
    run.state.update(name=name, state="running", ended_at=None)
    later = time.time() - 1 - run.events[-1]["at"]
    for event in run.events:
        event["at"] += later
    directory = RunDirectory(run_id)
    directory.create(node="node-0", keeper=True)
    run.write(Path(directory.root))
    write_json(directory.keeper.identity, {"process": record_of(identify("node-0", run_id)), "port": 0})
    return run_id


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="ui-pictures-") as folder:
        os.environ["ALLRANKS_HOME"] = f"{folder}/home"
        command = [sys.executable, "-m", "allranks.cli", "ui"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as served:
            assert served.stdout is not None
            address = served.stdout.readline().strip()
            try:
                with Browser(Path(folder)) as browser:
                    draw(
                        browser,
                        f"{address}#/run/{write(trained(), 'sft-1123-k7ab', 'sft-671b')}",
                        "ui.png",
                        1500,
                    )
                    run_id = write(stalled(), "sft-1123-q2mc", "sft-671b")
                    draw(browser, f"{address}#/run/{run_id}/stacks", "ui-stall.png", 560)
            finally:
                served.terminate()
    return 0


def draw(browser: Browser, address: str, name: str, height: int) -> None:
    page = browser.page(1280, height)
    page.open(address)
    page.until("document.querySelectorAll('.u-over').length === 5 || document.querySelector('.frames')")
    time.sleep(0.5)
    print(page.picture(DOCS / name))
    page.close()


if __name__ == "__main__":
    sys.exit(main())
