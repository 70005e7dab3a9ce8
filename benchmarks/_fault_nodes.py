"""The three nodes of a trial: this machine three times, or three of the rig with networks of their own."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks._fault import HEAD, NODES
from tests.rig.rig import STATE, Rig, address

SOURCE = Path(__file__).resolve().parent.parent / "src"


class Nodes:
    """node1 … node3 of this machine. `folder` is the trial's; all nodes see it as it is."""

    def __init__(self, folder: Path, home: Path):
        self.folder, self.home = folder, home
        self.port = free_port()

    # ---- what a run file and a torchrun by hand say of them ----

    def keys(self) -> dict[str, Any]:
        return {"same_host": True, "network": {"port": self.port}}

    def env(self) -> dict[str, str]:
        return {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}

    def address(self, number: int) -> str:
        return "127.0.0.1"

    # ---- commands ----

    def inside(self, number: int, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` on a node."""
        return list(command)

    def run(self, number: int, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.inside(number, command), **{"check": True, "capture_output": True, **options}
        )

    def read(self, number: int, path: str) -> bytes:
        return Path(path).read_bytes()

    def call(self, *words: object) -> list[str]:
        """The command line of `allranks`, where the person sits."""
        settings = [f"ALLRANKS_HOME={self.home}", f"PYTHONPATH={SOURCE}"]
        return ["env", *settings, sys.executable, "-m", "allranks.cli", *map(str, words)]

    @property
    def machines(self) -> tuple[int, ...]:
        """A node of each machine."""
        return (HEAD,)

    @property
    def rig(self) -> Rig:
        raise RuntimeError("a fault of networks needs the rig")


class RigNodes(Nodes):
    """Three nodes with networks, process tables and homes of their own; the person sits on a fourth."""

    def __init__(self, folder: Path, rig: Rig):
        super().__init__(folder, folder / "allranks")
        self._numbers = tuple(range(1, rig.count + 1))
        self._rig, self.port = rig, 29500
        ssh = folder / ".ssh"
        ssh.mkdir(mode=0o700)
        shutil.copy(STATE / "ssh_config", ssh / "config")
        shutil.copy(STATE / "known_hosts", ssh / "known_hosts")

    def keys(self) -> dict[str, Any]:
        return {}

    def env(self) -> dict[str, str]:
        return {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}

    def address(self, number: int) -> str:
        return address(number)

    def read(self, number: int, path: str) -> bytes:
        return self.run(number, ["cat", path]).stdout

    def inside(self, number: int, command: Sequence[str]) -> list[str]:
        return self._rig.inside(number, command)

    def call(self, *words: object) -> list[str]:
        return self._rig.from_ctl(["env", f"HOME={self.folder}", *super().call(*words)[1:]])

    @property
    def machines(self) -> tuple[int, ...]:
        return self._numbers

    @property
    def rig(self) -> Rig:
        return self._rig


@contextlib.contextmanager
def nodes_for(on_rig: bool, folder: Path, home: Path, count: int = len(NODES)) -> Iterator[Nodes]:
    """`home` is that of the runs on this machine; nodes of the rig have one each."""
    if not on_rig:
        yield Nodes(folder, home)
        return
    with Rig(count, shared=[sys.prefix, str(folder)]) as rig:
        yield RigNodes(folder, rig)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Strangers:
    """On each machine two processes and some files that look like a run's, and are not. `harmed` names those that are
    no longer what they were."""

    def __init__(self, nodes: Nodes, run: dict[str, Any], spared: Sequence[int]):
        self.nodes, name = nodes, f"stranger-{nodes.folder.name}"
        self.files = [
            f"/tmp/torchelastic_{name}/keep",
            f"/dev/shm/torch_{name}",
            f"{run['output_dir']}/{name}",
        ]
        self.machines = [number for number in nodes.machines if number in spared]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        make = 'for f; do mkdir -p "$(dirname "$f")"; echo keep > "$f"; done'
        for number in self.machines:
            nodes.run(number, ["sh", "-c", make, "make", *self.files])
            for title in ("torchrun --nnodes=3", "allranks supervisor"):
                words = ["bash", "-c", 'cd "$1"; exec -a "$2" sleep 3600', "x", run["directory"], title]
                words = nodes.inside(number, words)
                self.processes[f"node{number}: {title}"] = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
                )

    def harmed(self) -> list[str]:
        found = [name for name, process in self.processes.items() if process.poll() is not None]
        look = 'for f; do [ "$(cat "$f" 2>/dev/null)" = keep ] || echo "$f"; done'
        for number in self.machines:
            with contextlib.suppress(subprocess.SubprocessError):
                done = self.nodes.run(number, ["sh", "-c", look, "look", *self.files], timeout=30)
                found += [f"node{number}: {line}" for line in done.stdout.decode().splitlines()]
        return found

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        for number in self.machines:
            with contextlib.suppress(subprocess.SubprocessError, KeyError, IndexError, OSError):
                drop = ["rm", "-rf", str(Path(self.files[0]).parent), *self.files[1:]]
                self.nodes.run(number, drop, timeout=30, check=False)
