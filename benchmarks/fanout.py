"""One command on many nodes of the rig: allranks against asyncssh alone, pdsh, clush, ansible and pyinfra.

Needs root; what is not installed is said and left out. FANOUT_NODES=4 for a try.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "rig"))
from rig import STATE, Rig, address, only_one

TITLE = "One command on many nodes"
COUNTS = tuple(int(n) for n in os.environ.get("FANOUT_NODES", "32,100").split(","))
TIMES = 5
LIMIT_SECONDS = 300.0
PROGRAM = Path(__file__).with_name("_fanout.py")


def measure() -> str:
    parts = [table(count) for count in COUNTS]
    return "\n\n".join(parts) + (
        "\n\nWall and client CPU (user and system, children included) of a whole program that runs `hostname` on every "
        f"node, the median of {TIMES}, in turns. Aims: wall ≤ 1.1 of bare asyncssh, client CPU ≤ 0.15 of pdsh; a "
        "second call in the same process ≤ 0.2 of pdsh's wall."
    )


def table(count: int) -> str:
    shared = [sys.prefix, sys.base_prefix]
    with only_one(), Rig(count, shared=shared) as rig:
        commands = tools(count)
        runs: dict[str, list[tuple[float, float, float | None]]] = {name: [] for name in commands}
        for _ in range(TIMES):
            for name, command in commands.items():
                runs[name].append(once(rig, command, count))
    walls = {name: statistics.median(one[0] for one in found) for name, found in runs.items()}
    cpus = {name: statistics.median(one[1] for one in found) for name, found in runs.items()}
    rows = [f"| {name} | {walls[name]:.2f} s | {cpus[name]:.2f} s |" for name in commands]
    seconds = [one[2] for one in runs["allranks"] if one[2] is not None]
    lines = [f"**{count} nodes**", "", "| | wall | client CPU |", "|---|---|---|", *rows, ""]
    lines.append(f"allranks against asyncssh alone: wall {walls['allranks'] / walls['asyncssh alone']:.2f}.")
    if "pdsh" in walls:
        lines.append(
            f"Against pdsh: client CPU {cpus['allranks'] / cpus['pdsh']:.2f}, second call "
            f"{statistics.median(seconds) / walls['pdsh']:.2f} of its wall."
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
    return {
        name: command
        for name, command in every.items()
        if name in ("allranks", "asyncssh alone") or has(name)
    }


def has(program: str) -> bool:
    return shutil.which(program, path=f"{os.environ['PATH']}:{sys.prefix}/bin") is not None


def once(rig: Rig, command: list[str], count: int) -> tuple[float, float, float | None]:
    """Wall and CPU seconds of one program, and its own figure of a second call where it has one."""
    settings = [
        f"HOME={STATE}",
        f"PATH={os.environ['PATH']}:{sys.prefix}/bin",
        "ANSIBLE_HOST_KEY_CHECKING=True",
    ]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        rig.from_ctl(["env", *settings, *command]), capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = json.loads(done.stdout) if str(PROGRAM) in command and done.returncode == 0 else {}
    said = int(told.get("answers", 0)) if told else done.stdout.count("node")
    if done.returncode != 0 or said < count:
        raise RuntimeError(
            f"{command[0]}: {said} of {count} nodes answered: {(done.stderr or done.stdout)[-500:]}"
        )
    return wall - told.get("second", 0.0), cpu, told.get("second")
