"""The rendered playbook on three nodes: it installs from local sources alone, and changes nothing the second time."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import re
import subprocess
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.harness.on_rig import RigDesk, machines
from tests.rig.rig import STATE, Rig

pytestmark = [pytest.mark.rig, pytest.mark.seldom, pytest.mark.timeout(600)]
DEBS = ("libaio-dev", "ninja-build", "nfs-kernel-server", "nfs-common", "pdsh")
PACKAGES = ("packaging", "filelock")
COMPILES = "ALLRANKS_LONG" in os.environ
"""Whether one node also compiles a DeepSpeed op: a minute of a core."""
OPS = "{{ ['CPUAdamBuilder'] if inventory_hostname == 'node3' else [] }}" if COMPILES else []


rig = machines(3)


def wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes]) -> None:
    """A wheel of these files (the binary distribution format 1.0)."""
    info = f"{name}-{version}.dist-info"
    whole = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for path, data in whole.items()
    ]
    whole[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]).encode()
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, data in whole.items():
            file.writestr(path, data)


def wheels(folder: Path) -> str:
    """Real packages, as wheels again, and one that brings this environment's torch; the pins of all."""
    folder.mkdir()
    pins = []
    for name in PACKAGES:
        found = importlib.metadata.distribution(name)
        paths = [path for path in found.files or () if path.suffix == ".py" and ".." not in path.parts]
        wheel(folder, name, found.version, {str(path): path.read_binary() for path in paths})
        pins.append(f"{name}=={found.version}\n")
    wheel(folder, "stack", "1.0", {"stack.pth": sysconfig.get_path("purelib").encode() + b"\n"})
    return "".join([*pins, "stack==1.0\n"])


def debian_packages(folder: Path) -> None:
    """A repository of empty packages with the names that the playbook asks for."""
    folder.mkdir()
    index = []
    for name in DEBS:
        control = f"Package: {name}\nVersion: 9:99\nArchitecture: all\nMaintainer: rig\nDescription: empty\n"
        (folder / name / "DEBIAN").mkdir(parents=True)
        (folder / name / "DEBIAN" / "control").write_text(control)
        path = folder / f"{name}.deb"
        subprocess.run(
            ["dpkg-deb", "--build", "-Znone", str(folder / name), str(path)], check=True, capture_output=True
        )
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        index.append(f"{control}Filename: ./{path.name}\nSize: {len(data)}\nSHA256: {digest}\n")
    (folder / "Packages").write_text("\n".join(index))


SOURCES = """\
rm -rf /var/lib/apt/lists/* /etc/apt/sources.list.d/* /opt/training /etc/exports.d
echo 'deb [trusted=yes] file:/nfs/apt ./' >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/99rig
rm -f /root/.ssh/config /root/.ssh/id_ed25519* /var/lib/apt/periodic/*
touch -d '2 days ago' /var/lib/apt/lists
"""


def play(rig: Rig, folder: Path) -> dict[str, dict[str, int]]:
    """Plays it from `ctl`; what Ansible counted, by host. Without `services`: a node here has no init, and this kernel
    may be built without NFS (CONFIG_NETWORK_FILESYSTEMS)."""
    login = f"-F {STATE}/ssh_config -o ControlMaster=auto -o ControlPersist=60s"
    settings = {
        "HOME": str(folder),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_SSH_ARGS": login,
        "ANSIBLE_SSH_CONTROL_PATH_DIR": f"{STATE}/cp",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }
    words = ["ansible-playbook", "-i", "inventory.yml", "playbook.yml", "--skip-tags", "services"]
    done = subprocess.run(
        rig.from_ctl(
            ["env", "-C", str(folder), "-i", *(f"{name}={value}" for name, value in settings.items()), *words]
        ),
        capture_output=True,
        text=True,
        timeout=900,
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("fatal:", "failed:"))]
    if done.returncode != 0:
        pytest.fail("\n".join([*failed, done.stdout[-1500:], done.stderr[-1500:]]))
    recap = done.stdout.rpartition("PLAY RECAP")[2]
    counted = {
        host: {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", rest)}
        for host, rest in re.findall(r"^(node\d)\s*:(.*)$", recap, re.MULTILINE)
    }
    assert len(counted) == 3, done.stdout[-2000:]
    counted["_changed"] = {line: 1 for line in done.stdout.splitlines() if line.startswith("changed:")}
    return counted


def test_it_installs_once_and_check_passes_after_it(rig: Rig, tmp_path: Path) -> None:
    desk = RigDesk(rig, tmp_path)
    (STATE / "nfs" / "train.py").write_text("import packaging, filelock\n")
    file = desk.file(
        name="installed",
        environment={"python": "/opt/training/bin/python"},
        launch={"with": "pdsh"},
        train={"command": ["/nfs/train.py"]},
    )
    folder = tmp_path / "playbook"
    assert desk("plan", file, "--render", "ansible", "-o", folder).returncode == 0

    # What a person edits: the packages, where they come from, and a node that serves a folder.
    (folder / "requirements.txt").write_text(wheels(tmp_path / "wheels"))
    variables = yaml.safe_load((folder / "vars.yml").read_text())
    variables.update(wheels=str(tmp_path / "wheels"), nfs_server="node1", nfs_exports=[{"path": "/export"}])
    # A file system that this kernel has, in the place of NFS.
    variables.update(
        shared_mounts=[{"src": "shared", "path": "/shared", "fstype": "tmpfs", "opts": "size=1m"}]
    )
    variables.update(deepspeed_ops=OPS)
    (folder / "vars.yml").write_text(yaml.safe_dump(variables))
    debian_packages(STATE / "nfs" / "apt")
    for number in (1, 2, 3):
        rig.run(number, ["sh", "-c", SOURCES])

    first = play(rig, folder)
    assert all(first[f"node{n}"]["changed"] > 0 for n in (1, 2, 3)), first
    again = play(rig, folder)
    assert [again[f"node{n}"]["changed"] for n in (1, 2, 3)] == [0, 0, 0], again["_changed"]

    for number in (1, 2, 3):
        seen = rig.run(
            number,
            [
                "/opt/training/bin/python",
                "-c",
                "import filelock, torch; print(filelock.__file__, torch.__file__)",
            ],
        )
        assert b"/opt/training/lib" in seen.stdout
        assert b"9:99" in rig.run(number, ["dpkg-query", "-W", "libaio-dev"]).stdout
    made = rig.run(3, ["find", "/root/.cache/torch_extensions", "-name", "cpu_adam.so"], check=False).stdout
    assert bool(made) == COMPILES
    mounted = [
        rig.run(n, ["findmnt", "-n", "-o", "FSTYPE", "--mountpoint", "/shared"], check=False)
        for n in (1, 2, 3)
    ]
    assert [one.stdout.strip() for one in mounted] == [b"", b"tmpfs", b"tmpfs"]
    exports = rig.run(1, ["cat", "/etc/exports.d/allranks.exports"]).stdout.decode()
    assert (
        "/export 10.77.0.2(rw,sync,no_subtree_check) 10.77.0.3(" in exports or "/export node1(" in exports
    ), exports
    # The head logs in to each, by name and by address, and asks nobody.
    for name in ("node2", "node3"):
        rig.run(1, ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", name, "true"])
    # The logins were tried above; the check's own try has 8 s, which a busy machine exceeds.
    checked = desk.json("check", file, "--skip", "ssh-between-nodes")
    assert not [f for f in checked["findings"] if f["verdict"] == "block"], checked["findings"]
