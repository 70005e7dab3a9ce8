"""Weights & Biases' own client in a run, online against a stand-in for its server and offline, with its key a secret.

`make bench-trackers` installs the client into .venvs/wandb; allranks needs none of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TITLE = "Weights & Biases online and offline"
ON_REQUEST = True
FOLDER = Path(__file__).resolve().parent
PACKAGES = FOLDER.parent / ".venvs" / "wandb"
LIMIT_SECONDS = 300.0
LOOK_SECONDS = 0.05


def measure() -> str:
    if not (PACKAGES / "wandb").is_dir():
        raise RuntimeError("make bench-trackers installs the client first")
    version = next(PACKAGES.glob("wandb-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    online, offline = trial("online"), trial("offline")
    return (
        f"wandb {version} in a run of one rank, `secrets: [WANDB_API_KEY]`; `WANDB_BASE_URL` is a stand-in on "
        "127.0.0.1.\n\n"
        "| WANDB_MODE | run | requests | with the key | logged below the output folder | files with the key "
        f"| command lines with it |\n|---|---|---|---|---|---|---|\n{online}\n{offline}"
    )


def trial(mode: str) -> str:
    """A row of the table."""
    key = secrets.token_hex(20)
    with tempfile.TemporaryDirectory(prefix="trackers-") as name, server() as (port, requests):
        folder = Path(name)
        with watched(key) as seen:
            run = trained(folder, mode, port, key)
        logs = sorted(str(p.relative_to(run["output_dir"])) for p in Path(run["output_dir"]).rglob("*.wandb"))
        found = [path for path in folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    by_key = sum(one[2] == key for one in requests)
    cells = [mode, run["state"], len(requests), by_key, ", ".join(logs) or "nothing", len(found), len(seen)]
    return "| " + " | ".join(map(str, cells)) + " |"


def trained(folder: Path, mode: str, port: int, key: str) -> dict[str, Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        rendezvous = probe.getsockname()[1]
    env = {"WANDB_BASE_URL": f"http://127.0.0.1:{port}", "WANDB_PROJECT": "p", "WANDB_MODE": mode}
    data = {
        "name": mode,
        "nodes": "node-[0-0]",
        "same_host": True,
        "gpus": {"count": 1, "model": "cpu"},
        "environment": {"python": sys.executable},
        "network": {"port": rendezvous},
        "env": {**env, "WANDB_PACKAGES": str(PACKAGES)},
        "secrets": ["WANDB_API_KEY"],
        "save": {"to": str(folder / "out")},
        "train": {"command": [str(FOLDER / "_wandb_rank.py")]},
    }
    file = folder / "run.yaml"
    file.write_text(json.dumps(data))
    words = [
        sys.executable,
        "-m",
        "allranks.cli",
        "run",
        str(file),
        "--json",
        "--accept",
        "training-of-others",
    ]
    own = {**os.environ, "ALLRANKS_HOME": str(folder / "home"), "WANDB_API_KEY": key}
    try:
        done = subprocess.run(
            words, env=own, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        stop = [*words[:3], "stop", mode, "-y"]
        subprocess.run(stop, env=own, capture_output=True, timeout=LIMIT_SECONDS, check=False)
        raise
    if not done.stdout:
        raise RuntimeError(f"allranks ended with {done.returncode}: {done.stderr[-700:]}")
    return json.loads(done.stdout)["runs"][0]


@contextlib.contextmanager
def server() -> Iterator[tuple[int, list[list[str]]]]:
    """Its port, and its requests as they come: method, path, key."""
    words = [sys.executable, str(FOLDER / "_wandb_server.py")]
    requests: list[list[str]] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: requests.extend(map(json.loads, process.stdout or ())))
        try:
            port = int(process.stdout.readline())
            reader.start()
            yield port, requests
        finally:
            process.terminate()
            if reader.ident is not None:
                reader.join()


@contextlib.contextmanager
def watched(key: str) -> Iterator[set[str]]:
    """All command lines of this machine that hold the key, looked for 20 times a second."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_SECONDS):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if key.encode() in path.read_bytes():
                        seen.add(path.parent.name)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
