"""Stand-ins for what rendered scripts start, and a record of what arrived."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from allranks.core import Node, extensions
from allranks.launch import jobs, scripts
from allranks.launch.jobs import NodePaths
from allranks.plan import make_plan
from allranks.spec import Run
from tests.harness import Harness

RECORD = """#!/bin/sh
# Stands in for Python: writes its words and its environment down, as it got them.
if [ "$2" = deepspeed.launcher.runner ]; then shift 2; exec deepspeed "$@"; fi
exec 9>"$ALLRANKS_OUTPUT_DIR.$$.record" || exit 99
printf '%s\\0' "$#" "$@" >&9
/bin/cat "/proc/$$/environ" >&9
"""

SSH = """#!/bin/sh
# Stands in for ssh: joins the command and hands it to a shell, as ssh and sshd do, in a login's environment.
while :; do case $1 in -o|-p|-l) shift 2 ;; -*) shift ;; *) break ;; esac; done
shift
exec /usr/bin/env -i PATH="$PATH" HOME="$HOME" HF_TOKEN="${SENT_TOKEN-}" /bin/sh -c "$*"
"""

SRUN = """#!/bin/sh
# Stands in for srun: one process a node, started without a shell.
count=1
while :; do case $1 in --nodes=*) count=${1#*=}; shift ;; -*) shift ;; *) break ;; esac; done
node=0
while [ $node -lt $count ]; do SLURM_NODEID=$node SLURM_PROCID=$node "$@" || exit; node=$((node + 1)); done
"""

SCONTROL = """#!/bin/sh
printf 'first-host\\nsecond-host\\n'
"""

MPIRUN = r"""#!/bin/bash
# Stands in for mpirun: the processes of each context in order, started without a shell.
rank=0
while [ $# -gt 0 ]; do
  while :; do case $1 in
    -np) count=$2; shift 2 ;; --hostfile|--bind-to|--host|-x) shift 2 ;; --mca) shift 3 ;; --*) shift ;; *) break ;;
  esac; done
  words=()
  while [ $# -gt 0 ] && [ "$1" != : ]; do words+=("$1"); shift; done
  if [ $# -gt 0 ]; then shift; fi
  for _ in $(seq "$count"); do
    OMPI_COMM_WORLD_RANK=$rank "${words[@]}" || exit
    rank=$((rank + 1))
  done
done
"""

FLUX = """#!/bin/sh
# Stands in for flux run: one task on each of the two machines, started without a shell.
while :; do case $1 in run|-*) shift ;; *) break ;; esac; done
for host in alpha beta; do FAKE_HOST=$host "$@" || exit; done
"""

HOSTNAME = """#!/bin/sh
echo "${FAKE_HOST-here}"
"""

DOCKER = """#!/usr/bin/python3
# Stands in for docker: a program in an environment of its own, with what --env names.
import os, sys

words = sys.argv[2:]
env = {"PATH": os.environ["PATH"]}
while words[0].startswith("-"):
    word = words.pop(0)
    if word.startswith("--env="):
        name, given, value = word[6:].partition("=")
        env[name] = value if given else os.environ[name]
os.execvpe(words[1], words[1:], env)
"""

DEEPSPEED = r"""#!/usr/bin/python3
# Stands in for DeepSpeed's launcher: what deepspeed 0.19.8 does with these options, without importing torch.
import os, re, sys

options, words = {}, sys.argv[1:]
while words[0].startswith("--"):
    name = words.pop(0)
    options[name] = True if name.startswith("--no_") or name == "--force_multi" else words.pop(0)
pool = {}
for line in open(options["--hostfile"]):
    match = re.search(r"^(\S+)\s+slots=(\d+)", line)
    pool[match[1]] = int(match[2])
launch = ["cd %s;" % os.path.abspath("."), "CROSS_RANK=%n"] + words
os.environ["PDSH_RCMD_TYPE"] = "ssh"
os.execvp("pdsh", ["pdsh", "-S", "-f", "1024", "-w", ",".join(pool)] + launch)
"""

RAY = '''"""Stands in for Ray: actors are objects, and what they return is there at once."""

import sys
import types


class Reference(object):
    def __init__(self, value):
        self.value = value


class Remote(object):
    def __init__(self, method):
        self.remote = lambda *words: Reference(method(*words))


class Actor(object):
    def __init__(self, made, options):
        for name in ("address", "run"):
            setattr(self, name, Remote(getattr(made, name)))


def remote(kind):
    def options(**given):
        return types.SimpleNamespace(remote=lambda: Actor(kind(), given))

    kind.options = staticmethod(options)
    return kind


def init(address):
    pass


def nodes():
    return [{"Alive": True, "NodeManagerAddress": "10.0.0.%d" % n, "NodeManagerHostname": "h"} for n in (1, 2)]


def get(reference):
    return reference.value if isinstance(reference, Reference) else reference


def wait(references, num_returns):
    return references[:1], references[1:]


def group(bundles, strategy):
    assert strategy == "STRICT_SPREAD", strategy
    return types.SimpleNamespace(ready=lambda: Reference(True))


def module(name, **values):
    made = types.ModuleType(name)
    vars(made).update(values)
    sys.modules[name] = made
    return made


util = module("ray.util", get_node_ip_address=lambda: "10.0.0.1")
module("ray.util.placement_group", placement_group=group)
module("ray.util.scheduling_strategies", PlacementGroupSchedulingStrategy=lambda *a, **b: None)
'''

STUBS = {
    "python3": RECORD,
    "ssh": SSH,
    "srun": SRUN,
    "scontrol": SCONTROL,
    "mpirun": MPIRUN,
    "docker": DOCKER,
    "flux": FLUX,
    "hostname": HOSTNAME,
    "deepspeed": DEEPSPEED,
}


@dataclass(frozen=True)
class Arrived:
    """What one start of Python got."""

    words: tuple[str, ...]
    env: Mapping[str, str]


class StandIns(Harness):
    """A folder with stand-ins on PATH, a folder that scripts are written to, and what was recorded."""

    def __init__(self, root: Path):
        super().__init__(root / "scripts")
        self.bin = root / "bin"
        self.bin.mkdir()
        for name, text in STUBS.items():
            self.stub(name, text)
        (root / "lib").mkdir()
        (root / "lib" / "ray.py").write_text(RAY)
        self.python = str(self.bin / "python3")
        self.env = {
            "PATH": f"{self.bin}:/usr/sbin:/usr/bin:/bin",
            "HOME": str(root),
            "PYTHONPATH": str(root / "lib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def stub(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def remove_stub(self, name: str) -> None:
        (self.bin / name).unlink()

    def write(self, target: str, run: Run) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        scripts.write(scripts.render(target, run, make_plan(run), self.python), self.folder)
        (self.folder / "runs" / run.name).mkdir(parents=True)

    def start(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env={**self.env, **env},
            cwd=self.folder,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=240,
        )

    def arrived(self) -> list[Arrived]:
        """Every record, by node rank or global rank, and removes it."""
        found = []
        for path in self.folder.rglob("*.record"):
            pieces = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
            count = int(pieces[0])
            env = dict(piece.split("=", 1) for piece in pieces[count + 1 :])
            found.append(Arrived(tuple(pieces[1 : count + 1]), env))
            path.unlink()
        return sorted(found, key=place)

    def expected(self, run: Run, node: Node) -> tuple[tuple[str, ...], dict[str, str]]:
        """The words after Python and the variables that allranks itself would give this node's torchrun."""
        places = NodePaths(home=str(self.folder), bundle="", python=self.python)
        job = jobs.node_job(run, make_plan(run), run.name, node, places, run.network.rendezvous_port, 0).job
        # A rendered script runs without our hooks, which alone keep anything there.
        return tuple(job["argv"][1:]), {k: v for k, v in job["env"].items() if k != extensions.CACHE}


def place(arrived: Arrived) -> int:
    """The node's number or the global rank, by whatever the launcher tells it."""
    for word in arrived.words:
        found = re.match(r"--node-rank=(\d+)$|--config_file=.*/node-(\d+)\.yaml$", word, re.DOTALL)
        if found:
            return int(found[1] or found[2])
    return int(arrived.env.get("RANK") or arrived.env.get("CROSS_RANK") or 0)
