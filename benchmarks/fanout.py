"""One command on many nodes of the rig: allranks against asyncssh alone, pdsh, clush, ansible and pyinfra.

Needs root; what is not installed is said and left out. FANOUT_NODES=4 FANOUT_TIMES=1 for a try.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.rig.rig import STATE, Rig, address, only_one

TITLE = "One command on many nodes"
COUNTS = tuple(int(n) for n in os.environ.get("FANOUT_NODES", "32,100").split(","))
TIMES = int(os.environ.get("FANOUT_TIMES", "5"))
LIMIT_SECONDS = 300.0
PROGRAM = Path(__file__).with_name("_fanout.py")


def measure() -> str:
    parts = [table(count) for count in COUNTS]
    return "\n\n".join(parts) + (
        "\n\nA whole program that runs `hostname` on every node: wall, and client CPU (user and system, children "
        f"included), each the median of {TIMES}, all programs in turns; the nodes' sshds share the machine's cores. "
        "Aims: wall ≤ 1.1 of asyncssh alone, client CPU ≤ 0.15 of pdsh, a second call in the same process ≤ 0.2 of "
        "pdsh's wall. `import asyncssh` alone is what Python costs before the first packet: no number of nodes makes "
        "it less."
    )


def table(count: int) -> str:
    shared = [sys.prefix, sys.base_prefix]
    with only_one(), Rig(count, shared=shared) as rig:
        commands = tools(count)
        runs: dict[str, list[Once]] = {name: [] for name in commands}
        once(rig, commands["allranks"], count)
        for _ in range(TIMES):
            for name, command in commands.items():
                runs[name].append(once(rig, command, count))
    walls = {name: statistics.median(one.wall for one in found) for name, found in runs.items()}
    cpus = {name: statistics.median(one.cpu for one in found) for name, found in runs.items()}
    rows = [f"| {name} | {walls[name]:.2f} s | {cpus[name]:.2f} s |" for name in commands]
    lines = [f"**{count} nodes**", "", "| | wall | client CPU |", "|---|---|---|", *rows, ""]
    lines.append(f"allranks against asyncssh alone: wall {walls['allranks'] / walls['asyncssh alone']:.2f}.")
    if "pdsh" in walls:
        second = statistics.median(one.second for one in runs["allranks"])
        lines.append(
            f"Against pdsh: client CPU {cpus['allranks'] / cpus['pdsh']:.2f} (asyncssh alone "
            f"{cpus['asyncssh alone'] / cpus['pdsh']:.2f}, its import {cpus['import asyncssh'] / cpus['pdsh']:.2f}), "
            f"second call {second / walls['pdsh']:.2f} of its wall."
        )
    missing = [name for name in ("pdsh", "clush", "ansible", "pyinfra") if name not in walls]
    if missing:
        lines.append(f"Not installed here: {', '.join(missing)}.")
    return "\n".join(lines)


def tools(count: int) -> dict[str, list[str]]:
    """The command lines, by name; only those whose program is there."""
    config, known = f"{STATE}/ssh_config", f"{STATE}/known_hosts"
    names = [f"node{n}" for n in range(1, count + 1)]
    pairs = [f"{name}={address(n)}" for n, name in enumerate(names, 1)]
    own = [sys.executable, str(PROGRAM)]
    ssh = f"-F {config}"
    inventory = STATE / "inventory.ini"
    inventory.write_text("[all]\n" + "\n".join(names) + f"\n[all:vars]\nansible_ssh_common_args={ssh}\n")
    pyinfra = STATE / "inventory.py"
    pyinfra.write_text(
        f"nodes = ({names!r}, {{'ssh_config_file': {config!r}, 'ssh_known_hosts_file': {known!r}}})\n"
    )
    every = {
        "allranks": [*own, "allranks", config, known, *pairs],
        "asyncssh alone": [*own, "bare", config, known, *pairs],
        "import asyncssh": [*own, "import", config, known, *pairs],
        "pdsh": [
            "env",
            "PDSH_RCMD_TYPE=ssh",
            f"PDSH_SSH_ARGS_APPEND={ssh}",
            "pdsh",
            "-f",
            str(count),
            "-w",
            f"node[1-{count}]",
            "hostname",
        ],
        "clush": ["clush", "-f", str(count), "-o", ssh, "-w", ",".join(names), "hostname"],
        "ansible": ["ansible", "-i", str(inventory), "-f", str(count), "-m", "raw", "-a", "hostname", "all"],
        "pyinfra": ["pyinfra", "-y", str(pyinfra), "exec", "--", "hostname"],
    }
    return {name: command for name, command in every.items() if command[:2] == own or has(name)}


PEERS = Path(__file__).resolve().parent.parent / ".venvs" / "bench" / "bin"
"""What `make bench-fanout` installs beside what the system has."""


def has(program: str) -> bool:
    return shutil.which(program, path=f"{os.environ['PATH']}:{PEERS}") is not None


@dataclass(frozen=True)
class Once:
    """Wall and CPU seconds of one program without its second call, and the second call's wall."""

    wall: float
    cpu: float
    second: float


def once(rig: Rig, command: list[str], count: int) -> Once:
    settings = [f"HOME={STATE}", f"PATH={os.environ['PATH']}:{PEERS}", "ANSIBLE_HOST_KEY_CHECKING=True"]
    # Compiled once, as where a program is installed: this checkout keeps no bytecode.
    settings += ["PYTHONDONTWRITEBYTECODE=", f"PYTHONPYCACHEPREFIX={STATE}/pycache"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        rig.from_ctl(["env", *settings, *command]), capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = json.loads(done.stdout) if str(PROGRAM) in command and done.returncode == 0 else {}
    said = int(told.get("answers", 0)) if told else (done.stdout + done.stderr).count("node")
    if done.returncode != 0 or said < count:
        raise RuntimeError(
            f"{command[0]}: {said} of {count} nodes answered: {(done.stderr or done.stdout)[-500:]}"
        )
    second = told.get("second", 0.0)
    return Once(wall - second, cpu - told.get("second_cpu", 0.0), second)
