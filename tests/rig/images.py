"""Small images for containers on the rig: nothing but links to the node's own /usr, which the run file mounts."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.prepare.wheels import packages
from tests.rig.rig import ROOT, STATE, Rig

NAME = "allranks-test"
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
CONTROL_GROUP = f"docker-{STATE.name}"
FOLDERS = ("usr", "tmp", "root", "proc", "sys", "dev", "etc", "run", "var/tmp", "opt", "work")
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}

ELSEWHERE = [path for path in packages() if not Path(path).is_relative_to(sys.prefix)]
MOUNTS = [f"{path}:{path}:ro" for path in dict.fromkeys(["/usr", sys.base_prefix, sys.prefix, *ELSEWHERE])]
"""What such an image needs of the node: its programs, this Python, this environment, and packages that it borrows."""


def tarball(mark: str = "") -> bytes:
    """The image's files; another `mark` makes another image. /opt/env is an environment of its own, with pip, that
    sees this one's packages behind its own."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            archive.addfile(folder)
        for name, target in LINKS.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name in ("etc/passwd", "etc/group", "etc/ld.so.cache"):
            archive.add(f"/{name}", name)
        add_text(archive, "etc/mark", mark)
        archive.add(environment(), "opt/env")
        add_text(archive, f"opt/env/lib/{VERSION}/site-packages/behind.pth", "\n".join([*packages(), ""]))
    return buffer.getvalue()


def add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    archive.addfile(entry, io.BytesIO(text.encode()))


def environment() -> Path:
    """A virtual environment with pip alone; made once."""
    place = ROOT / ".cache" / f"image-env-{VERSION}"
    place.parent.mkdir(exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers may need it at once
        if not (place / "ready").exists():
            subprocess.run([f"{sys.base_prefix}/bin/python3", "-m", "venv", "--clear", place], check=True)
            (place / "ready").touch()
    return place


def start_docker(rig: Rig, numbers: Sequence[int], *words: str) -> None:
    """An engine on each of the nodes, the same image in all; skips the test where there is no Docker."""
    for program in ("dockerd", "docker"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"{program} is not installed: scripts/system.sh dockerd")
    script = [str(Path(__file__).with_name("docker_node.sh")), f"--cgroup-parent=/{CONTROL_GROUP}"]
    for number in numbers:
        subprocess.run(rig.inside(number, [*script, *words]), check=True, timeout=60)
    first, *others = numbers
    import_image(rig, first)
    saved = rig.run(first, ["docker", "save", NAME]).stdout
    for number in others:
        rig.run(number, ["docker", "load"], input=saved)


def import_image(rig: Rig, number: int, mark: str = "", tool: Sequence[str] = ("docker",)) -> None:
    """Makes the image on one node; each call makes another one, as each holds its own time."""
    change = ["--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin"]
    rig.run(number, [*tool, "import", *change, "-", NAME], input=tarball(mark))


def stop_docker(rig: Rig, numbers: Sequence[int]) -> None:
    """Ends the engines that `start_docker` started, and with them their containers' helpers."""
    for number in numbers:
        rig.run(
            number, ["sh", "-c", "docker ps -q | xargs -r docker kill; kill $(cat /run/docker-engine/pid)"]
        )
    # Docker leaves its empty control groups. They are the machine's: those of another rig, which may be empty for a
    # moment, have another name.
    ours = r'-depth -type d \( -path "*/$1" -o -path "*/$1/*" \)'
    tidy = f"find /sys/fs/cgroup {ours} -exec rmdir {{}} + 2>/dev/null; true"
    subprocess.run(["sh", "-c", tidy, "sh", CONTROL_GROUP], check=True)
