"""From SIGKILL of a rank to the next optimizer step: `launch.restarts: 1` against `torchrun --max-restarts=1`.

Both run the same script (`_restart_loop.py`), which saves and goes on from its save, on three nodes of this machine,
in turns. The script itself writes down when it begins, has imported torch, has joined, has loaded and has stepped, so
that the phases are the same on both sides; of allranks the keeper's journal divides what lies before the start.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TITLE = "From a killed rank to the next step, against `torchrun --max-restarts`"
LOOP = Path(__file__).parent / "_restart_loop.py"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
LIMIT_SECONDS = 300.0
PHASES = ("start", "import", "join", "load", "step")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ours(
    folder: Path,
    loop: Path = LOOP,
    loader: str = "stock",
    limit: float = LIMIT_SECONDS,
    standby: bool = False,
    **env: str,
) -> dict[str, float]:
    """`env`: further variables of the script."""
    data = {
        "name": "restart",
        "nodes": "node-[0-2]",
        "same_host": True,
        "gpus": {"count": 1, "model": "cpu"},
        "environment": {"python": sys.executable, "loader": loader},
        "network": {"port": free_port()},
        "launch": {"restarts": 1, "standby": standby},
        "train": {"command": [str(loop)]},
        "env": {"RESTART_DIR": str(folder), "GLOO_SOCKET_IFNAME": "lo", **env},
    }
    (folder / "run.yaml").write_text(json.dumps(data))
    done = subprocess.run(
        [sys.executable, "-m", "allranks.cli", "run", str(folder / "run.yaml"), "--json"],
        capture_output=True,
        text=True,
        timeout=limit,
        env={**os.environ, "ALLRANKS_HOME": str(folder / "home")},
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"allranks ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-700:]}"
        )
    run = json.loads(done.stdout)["runs"][0]
    lines = Path(run["directory"], "keeper", "journal.jsonl").read_text().splitlines()
    return {**phases(folder), **keeper_phases(folder, [json.loads(line) for line in lines])}


def keeper_phases(folder: Path, events: list[dict[str, Any]]) -> dict[str, float]:
    """What the keeper did between the kill and the start of the next torchrun."""
    killed = at(moments(folder), 0, "killed")
    gone = next(e["at"] for e in events if e["kind"] == "rank-gone" and e["rank"] == 1)
    swept = [e["at"] for e in events if e["kind"] == "swept"][:3]
    restart = next(e["at"] for e in events if e["kind"] == "restart")
    started = max(e["at"] for e in events if e["kind"] == "torchrun" and e["data"]["attempt"] == 1)
    stopped = next(e["at"] for e in events if e["kind"] == "phase" and e["data"]["phase"] == "stop")
    return {
        "noticed": gone - killed,
        "all ended": max(swept) - killed,
        "judged": stopped - killed,
        "decided": restart - killed,
        "torchrun started": started - killed,
    }


def theirs(folder: Path, loop: Path = LOOP, limit: float = LIMIT_SECONDS, **more: str) -> dict[str, float]:
    port = free_port()
    words = [sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--nproc-per-node=1"]
    words += [
        "--max-restarts=1",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint=127.0.0.1:{port}",
        "--rdzv-id=restart",
        f"--log-dir={folder / 'torchrun'}",
    ]
    env = {
        **os.environ,
        "RESTART_DIR": str(folder),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        # Its agents count restarts apart: with the shared store, whose keys hold that count, the second mesh never
        # meets (torch 2.13, distributed/rendezvous.py).
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        **more,
    }
    with (folder / "torchrun.log").open("wb") as log:
        started = [
            subprocess.Popen(
                [*words, f"--rdzv-conf=is_host={int(n == 0)}", "--local-addr=127.0.0.1", str(loop)],
                env=env,
                stdout=log,
                stderr=log,
            )
            for n in range(3)
        ]
        try:
            deadline = time.monotonic() + limit
            for process in started:
                process.wait(timeout=max(1.0, deadline - time.monotonic()))
        finally:
            for process in started:
                process.kill()
                process.wait()
    return phases(folder)


# ---- the script's own moments ----


def moments(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "moments").read_text().splitlines()]


def at(found: list[dict[str, Any]], attempt: int, what: str) -> float:
    """When the last rank came to it."""
    return max(m["at"] for m in found if m["attempt"] == attempt and m["what"] == what)


def phases(folder: Path) -> dict[str, float]:
    found = moments(folder)
    times = [at(found, 0, "killed")]
    times += [at(found, 1, what) for what in ("begun", "imported", "joined", "loaded", "stepped")]
    spent = {name: after - before for name, before, after in zip(PHASES, times, times[1:], strict=False)}
    return {**spent, "whole": times[-1] - times[0]}


def measure() -> str:
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    for number in range(ROUNDS + 1):
        pair = []
        for side in (ours, theirs) if number % 2 else (theirs, ours):
            with tempfile.TemporaryDirectory(prefix="restart-") as folder:
                pair.append(side(Path(folder)))
        rounds += [(pair[0], pair[1]) if number % 2 else (pair[1], pair[0])] if number else []
        print(pair, flush=True)
    return told(rounds, 1.1) + (
        " It comes some 20 s after the first step, when the next attempt's torchrun waits already; one within the first"
        " seconds of an attempt still pays for the agents' imports of torch."
    )


def told(rounds: list[tuple[dict[str, float], dict[str, float]]], aim: float) -> str:
    """The phases of (allranks, torchrun) side by side."""
    rows = [
        f"| {name} | {middle(mine[name] for mine, _ in rounds):.2f} "
        f"| {middle(other[name] for _, other in rounds):.2f} |"
        for name in (*PHASES, "whole")
    ]
    ratio = middle(mine["whole"] / other["whole"] for mine, other in rounds)
    inner = [name for name in rounds[0][0] if name not in (*PHASES, "whole")]
    steps = ", ".join(f"{name} {middle(mine[name] for mine, _ in rounds):.2f}" for name in inner)
    head = f"Median of {len(rounds)} pairs in turns, after one round of warm-up: ratio **{ratio:.2f}** (aim ≤ {aim})."
    ready = middle(until_step(mine) / until_step(other) for mine, other in rounds)
    head += f" Until that step begins: {ready:.2f}."
    return "\n".join(
        [
            head,
            "",
            "| phase, s | allranks | torchrun |",
            "|---|---|---|",
            *rows,
            "",
            f"After the kill: {steps} s.",
        ]
    )


def until_step(times: dict[str, float]) -> float:
    return times["whole"] - times["step"]


def middle(values: Any) -> float:
    return statistics.median(list(values))
