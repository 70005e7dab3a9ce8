"""Ray on the rig's nodes, as a site has it: `have_ray` puts the program on every node's path, `start_ray` a cluster.

Ray is that of .venvs/ray (`scripts/ray.sh`); the head is node1, its dashboard listens on node1's 127.0.0.1.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.harness import until
from tests.rig.rig import ROOT, Rig, address

RAY = ROOT / ".venvs" / "ray" / "bin" / "ray"
BEGUN = "Ray runtime started"
TOKEN = "rig-token-0123456789abcdef0123456789abcdef"
SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PATH": f"{RAY.parent}:/usr/local/bin:/usr/bin:/bin",
}


def have_ray(rig: Rig) -> None:
    assert RAY.exists(), "scripts/ray.sh makes .venvs/ray"
    for number in range(1, rig.count + 1):
        rig.run(number, ["ln", "-sfn", str(RAY), "/usr/local/bin/ray"])


def start_ray(rig: Rig, seconds: float = 400.0) -> None:
    """A cluster with token authentication over all nodes; it ends with the nodes. Returns when all have joined."""
    others = range(2, rig.count + 1)
    for number in (1, *others):
        home = ["sh", "-c", 'mkdir -p ~/.ray && umask 077 && printf %s "$1" > ~/.ray/auth_token', "sh", TOKEN]
        rig.run(number, home)
    start(rig, 1, "--head", "--port=6379", "--dashboard-host=127.0.0.1")
    wait(rig, [1], seconds)
    for number in others:
        start(rig, number, f"--address={address(1)}:6379")
    wait(rig, list(others), seconds)


def start(rig: Rig, number: int, *words: str) -> None:
    """One node's Ray, in the background of that node; what it says is in /tmp/ray-site.log there."""
    env = [f"{name}={value}" for name, value in SETTINGS.items()]
    own = [f"--node-ip-address={address(number)}", "--num-cpus=1", "--num-gpus=0", "--disable-usage-stats"]
    own += [
        "--object-store-memory=80000000",
        "--plasma-directory=/tmp",
        "--include-log-monitor=false",
        *words,
    ]
    # It gives up after 30 s where the machine is busy (a fixed number of Ray's): then once more, and again.
    loop = 'for again in 1 2 3 4 5 6; do "$@" && break; done >/tmp/ray-site.log 2>&1 </dev/null; echo ENDED'
    begin = (
        f"rm -f /tmp/ray-site.log; (setsid sh -c '{loop} >>/tmp/ray-site.log' sh \"$@\") >/dev/null 2>&1 &"
    )
    rig.run(number, ["sh", "-c", begin, "sh", "env", "-C", "/", *env, str(RAY), "start", "--block", *own])


def wait(rig: Rig, numbers: list[int], seconds: float) -> None:
    for number in numbers:
        until(
            lambda n=number: BEGUN in said(rig, n) or "ENDED" in said(rig, n),
            f"Ray on node{number}",
            seconds,
            0.3,
        )
        if BEGUN not in (text := said(rig, number)):
            raise RuntimeError(f"Ray did not start on node{number}: {text[-1500:]}")


def said(rig: Rig, number: int) -> str:
    return rig.run(number, ["cat", "/tmp/ray-site.log"], check=False).stdout.decode(errors="replace")


def asked(rig: Rig, number: int, *words: str) -> subprocess.CompletedProcess:
    """Ray's own command line on a node of the site's cluster, with its token."""
    env = [f"{name}={value}" for name, value in SETTINGS.items()]
    return rig.run(number, ["env", *env, str(RAY), *words], check=False)


PYTHON = Path(RAY).with_name("python")
