"""Which commands of a script start a training, and which certainly do not."""

from __future__ import annotations

import posixpath
import re

from allranks.spec import commands
from allranks.spec.shell import statements

DECLARING = ("export", "declare", "typeset", "readonly", "local")
HARMLESS = re.compile(
    r"\[|\[\[|:|cat|clear|command|date|declare|df|du|echo|env|eval|exit|false|free|hash|head|hostname|id|let|local|logger|ls|"
    r"lscpu|nproc|nvidia-smi|nvcc|popd|printenv|printf|pushd|pwd|read|return|set|shift|shopt|sleep|tail|test|trap|true|"
    r"type|typeset|ulimit|umask|uname|unset|uptime|wait|whereis|which|whoami"
)
"""Commands that print, look, or change only the shell itself. The training does not need them."""

NEVER = (
    *("pip", "pip3", "rm", "cp", "mv", "mkdir", "ln", "git", "wget", "curl", "apt", "apt-get"),
    *("chmod", "chown", "kill", "make", "mount", "rsync", "scontrol", "sinfo", "squeue", "systemctl"),
    *("tar", "touch", "unzip"),
)
"""Commands that never train."""

TRAINS = {
    "accelerate": "launch",
    "axolotl": "train",
    "llamafactory-cli": "train",
    "conda": "run",
    "mamba": "run",
    "micromamba": "run",
    "ray": "job",
    "tune": "run",
}
"""Programs with several commands, each with the one command that trains."""

STRICT = ("env", "sudo", "timeout")
"""Programs that start another one: in a script it counts whether that one trains."""

WRAPPERS = ("exec", "nice", "nohup", "numactl", "srun", "time")
"""As those, but they may also start a user's program that trains."""


SERVER = re.compile(r"vllm\.entrypoints\..*|sglang\.launch_server|vllm-serve")
"""Modules and tasks that serve a model beside a training."""


def is_help(words: list[str]) -> bool:
    """Whether a command certainly does not train: `hostname`, `bash -c 'mkdir out'`, or none."""
    name = posixpath.basename(words[0] if words else "")
    if name in ("bash", "sh") and "-c" in words[1:2]:
        inner = [one.words[0].plain for one in statements(" ".join(words[2:3])) if one.words]
        return all(is_help([name]) for name in inner)
    if name in (*STRICT, *WRAPPERS) and (form := commands.form_of(words)) is not None:
        return is_help(form.behind(words))
    return not words or is_beside(words[0]) or name in NEVER


def is_beside(name: str) -> bool:
    others = ("cd", "source", ".", "module", "ml")
    return bool(HARMLESS.fullmatch(name)) or name in (*DECLARING, *others)


def is_training(words: list[str], is_script: bool) -> bool:
    """Whether a command trains: one of a launcher, Python, or in a single line whatever is nothing else."""
    if not words or (is_beside(words[0]) and words[0] not in STRICT):
        return False
    name = posixpath.basename(words[0])
    if is_script and any(map(SERVER.fullmatch, words)):
        return False
    if name in STRICT and (form := commands.form_of(words)) is not None:
        return is_training(form.behind(words), is_script)
    if name in WRAPPERS and is_help(words):
        return False
    if name in TRAINS and words[1:2] != [TRAINS[name]]:
        return False
    if commands.form_of(words) is not None:
        return True
    if name.startswith("python") or name.endswith(".py"):
        return not (is_script and (words[1:3] == ["-m", "pip"] or "-c" in words[1:2]))
    return not is_script and name not in NEVER
