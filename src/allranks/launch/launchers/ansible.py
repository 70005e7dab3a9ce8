"""An Ansible playbook that installs the training environment on the nodes. A second run of it changes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from allranks.core import Node
from allranks.launch.launchers._playbook import PLAYBOOK
from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import File, ScriptJob
from allranks.launch.scripts._phrases import matches, plain
from allranks.launch.scripts._readme import readme
from allranks.spec.launchers import Launcher

VENV = "/opt/training"
"""The environment's folder if the run file names no Python."""

PINS = {
    "torch": "2.13.0",
    "deepspeed": "0.19.8",
    "transformers": "5.6.0",
    "peft": "0.18.1",
    "accelerate": "1.11.0",
    "datasets": "4.0.0",
    "llamafactory": "0.9.5",
    "tensorboard": "2.21.0",
    "ninja": None,
}
"""Versions that ran together in this project's own tests (`requirements/`; a test compares the two)."""

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "ansible")
    how = (
        "```sh\nansible-playbook -i inventory.yml playbook.yml --check --diff    # what it would change\n"
        "ansible-playbook -i inventory.yml playbook.yml -K                # -K asks for the sudo password\n```\n\n"
        "Host keys are checked as ssh checks them: log in once on each node first. Firewalls are left as they are.\n\n"
        "Before the first run, look at vars.yml: the versions in requirements.txt, `wheels` (a folder of wheels here,"
        " for nodes that reach no index), `shared_mounts` (file systems to mount; allranks guesses none), "
        "`nfs_server` and"
        " `nfs_exports` (a node that serves folders only to the others); `ssh_from_head` (a key and the"
        " host keys for a launcher that logs in from the head); `launcher_packages` (the packages of the"
        " launcher, by the kind of system).\n"
    )
    files = {
        "inventory.yml": File(inventory(job)),
        "playbook.yml": File(PLAYBOOK),
        "vars.yml": File(variables(job)),
        "requirements.txt": File(requirements(job)),
    }
    return {**files, **readme(job, "Ansible (the environment alone)", how)}


class Unsafe(str):
    """Text that Ansible must not read as a template."""

    __slots__ = ()


def dumped(data: Any) -> str:
    """YAML in which every text with a brace is marked `!unsafe`, since Ansible would evaluate the text in `{{ }}`."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Indents lists below their key, and marks unsafe text with Ansible's own tag."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(
        Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"')
    )
    text = yaml.dump(
        marked(data),
        Dumper=Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=10_000,
    )
    return f"---\n{text}"


def marked(value: Any) -> Any:
    if isinstance(value, str):
        return Unsafe(plain(value, "a value of the playbook")) if "{" in value else value
    if isinstance(value, Mapping):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [marked(item) for item in value]
    return value


def machines(job: ScriptJob) -> list[Node]:
    """Each machine once, even if several nodes are on it. The head comes first."""
    first: dict[tuple[str, int | None], Node] = {}
    for node in job.nodes:
        first.setdefault((node.address, node.port), node)
    return list(first.values())


def ssh_names(job: ScriptJob) -> dict[str, list[str]]:
    """Each machine's names in known_hosts: its address and its name, with the port if that is not 22."""
    return {
        node.name: [
            name if node.port in (None, 22) else f"[{name}]:{node.port}"
            for name in dict.fromkeys([node.address, node.name])
        ]
        for node in machines(job)
    }


def inventory(job: ScriptJob) -> str:
    hosts: dict[str, Any] = {}
    for node in machines(job):
        user = node.user or job.run.user
        entry: dict[str, Any] = {"ansible_host": node.address}
        entry |= {"ansible_user": user} if user is not None else {}
        entry |= {"ansible_port": node.port} if node.port is not None else {}
        hosts[node.name] = entry
    return dumped({"all": {"children": {"training_nodes": {"hosts": hosts}}}})


def variables(job: ScriptJob) -> str:
    container = job.container
    sources = [mount.split(":")[0] for mount in container.mounts] if container else []
    names = ssh_names(job)
    launcher = job.run.launcher
    return dumped(
        {
            "venv": venv(job),
            "environment_wanted": container is None,
            "environment_python": "python3",
            "wheels": "",
            "head": next(iter(names)),
            "ssh_from_head": launcher.logs_in_from_head and len(names) > 1,
            "launcher_packages": {family: list(names) for family, names in launcher.packages.items()},
            "ssh_names": names,
            "nfs_server": "",
            "nfs_exports": [],
            "nfs_clients": sorted({node.address for node in job.nodes}),
            "shared_mounts": [],
            "folders_expected": [s for s in sources if s.startswith("/")],
            "deepspeed_ops": ops(job) if container is None else [],
            "container_engine": container.engine if container else "",
            "container_image": container.image if container else "",
        }
    )


def venv(job: ScriptJob) -> str:
    """The folder of the virtual environment whose `bin/python` the run file names."""
    python = PurePosixPath(job.python)
    if job.run.environment.python is None or not python.is_absolute():
        return VENV
    if python.parent.name != "bin":
        raise job.run.refuse(
            "environment.python",
            f"environment.python: {job.python}.",
            "a virtual environment has its Python in bin/, so this one cannot be made.",
            "such as /shared/env/bin/python",
        )
    folder = str(python.parent.parent)
    if folder in ("/", "/usr", "/usr/local"):
        raise job.run.refuse(
            "environment.python",
            f"environment.python: {job.python}.",
            "that is the system's own Python, which others depend on.",
            "a separate path, such as /opt/training/bin/python",
        )
    return folder


def ops(job: ScriptJob) -> list[str]:
    """The builders of the DeepSpeed ops that the run would otherwise compile at its first step (deepspeed 0.19.8:
    runtime/engine.py, `_configure_basic_optimizer`; runtime/swap_tensor)."""
    zero = (job.plan.deepspeed or {}).get("zero_optimization") or {}
    devices = [(zero.get(key) or {}).get("device") for key in ("offload_optimizer", "offload_param")]
    found = []
    if devices[0] in ("cpu", "nvme"):
        found.append("CPUAdamBuilder")
    elif "optimizer" in (job.plan.deepspeed or {}) and job.uses_gpu:
        found.append("FusedAdamBuilder")
    if "nvme" in devices:
        found.append("AsyncIOBuilder")
    return found


def requirements(job: ScriptJob) -> str:
    """Pinned versions. Versions in the run file win."""
    pins = {name: f"{name}=={version}" if version else name for name, version in PINS.items()}
    if job.run.train.kind != "llamafactory":
        pins.pop("llamafactory")
    for wanted in job.container.pip if job.container else ():
        name = re.match(NAME, wanted)
        if name is None or not matches(r"[^\x00-\x1f\x7f#]+", wanted):
            raise job.run.refuse(
                "container.pip", f"container.pip: {wanted!r}.", "pip reads no such line.", "name==version"
            )
        pins[name[0].lower()] = wanted
    return "".join(f"{pin}\n" for pin in pins.values())


LAUNCHER = Launcher(
    name="ansible",
    says="A playbook that installs the environment; it starts no training.",
    starts=False,
    render=render,
)
