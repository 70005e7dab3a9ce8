"""Several real nodes on one machine: each its own network, mount, PID, UTS and IPC namespaces and sshd.

    python tests/rig/rig.py up 3 | down | status | sh N [CMD …] | ctl [CMD …] | shell 3

The bridge lives in a controller namespace `ctl` (10.77.255.254/16), so nothing of the rig's traffic ever
leaves the machine. `ssh -F /run/allranks-rig/ssh_config node1` works from `ctl`. A rig that a killed test
run left behind is found by its state folder and removed by the next `up`: only processes whose pid and
start time were written down when they were started are ever signalled.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

STATE = Path(os.environ.get("ALLRANKS_RIG", "/run/allranks-rig"))
ROOT = Path(__file__).resolve().parents[2]
INIT = Path(__file__).resolve().parent / "node-init.sh"
CTL_ADDRESS = "10.77.255.254"
MOST_NEIGHBOURS = 700
"""net.ipv4.neigh.default.gc_thresh3 is 1024 for the whole machine, whatever the namespace; permanent ones are not
counted."""


def address(number: int) -> str:
    """node1 is 10.77.0.2; 250 nodes a third byte."""
    return f"10.77.{number // 250}.{number % 250 + 1}"


def hardware(number: int) -> str:
    """A locally administered address (IEEE 802, bit 1 of the first byte)."""
    return f"02:00:0a:4d:{number // 250:02x}:{number % 250 + 1:02x}"


# ---- processes, by pid and start time ----


def start_time(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None where the process is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


@dataclass(frozen=True)
class Started:
    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> Started:
        return cls(pid, start_time(pid) or 0)

    def alive(self) -> bool:
        return start_time(self.pid) == self.start_time

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                if self.alive():
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def sharing_network(ctl: Started) -> list[Started]:
    """All that runs in the rig's controller namespace, which this rig has made; nothing where `ctl` has ended."""
    if not ctl.alive():
        return []
    namespace = os.readlink(f"/proc/{ctl.pid}/ns/net")
    try:
        made = (STATE / "network").read_text()
    except OSError:
        made = ""
    if namespace != made or namespace == os.readlink("/proc/self/ns/net"):
        return []  # it has not left the one that it was started in: all else there is none of the rig's
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(folder / "ns" / "net") == namespace:
                found.append(Started.of(int(folder.name)))
    return [one for one in found if one.start_time]


# ---- the rig ----


class Rig:
    """`with Rig(3) as rig: rig.run(1, ["hostname"])`."""

    def __init__(self, count: int = 3, shared: Sequence[str] = (), environment: dict[str, str] | None = None):
        self.count, self.shared = count, list(dict.fromkeys([str(ROOT), *shared]))
        self.environment = environment or {}

    # ---- up and down ----

    def __enter__(self) -> Rig:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        self.down()
        try:
            self._prepare()
            ctl = self._unshare("ctl", ["-n", "-m", "-u"], ["sleep", "infinity"])
            (STATE / "network").write_text(os.readlink(f"/proc/{ctl.pid}/ns/net"))
            self._network_of_ctl(ctl)
            nodes = [self._start_node(number) for number in range(1, self.count + 1)]
            self._connect(ctl, nodes)
            self._wait_for_sshd()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """Removes whatever rig there is, also one of another process that was killed."""
        started = recorded()
        if "ctl" in started:
            # A controller's own processes are in no PID namespace that would end them.
            started.update({str(one.pid): one for one in sharing_network(started["ctl"])})
        for process in started.values():
            process.kill()
        deadline = time.monotonic() + 60
        while any(p.alive() for p in started.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        shutil.rmtree(STATE, ignore_errors=True)

    def _prepare(self) -> None:
        for folder in ("keys", "nfs", "log", "identity"):
            (STATE / folder).mkdir(parents=True, exist_ok=True)
        STATE.chmod(0o700)
        numbers = range(1, self.count + 1)
        keygen(STATE / "keys" / "client")
        host = STATE / "keys" / "host"
        keygen(host)
        public = " ".join((host.with_suffix(".pub")).read_text().split()[:2])
        hosts = ["127.0.0.1 localhost", f"{CTL_ADDRESS} ctl"]
        known = []
        for number in numbers:
            shutil.copy(host, STATE / "keys" / f"host{number}")
            hosts.append(f"{address(number)} node{number}")
            known.append(f"{address(number)},node{number} {public}")
            (STATE / "identity" / f"{number}.boot").write_text(f"{uuid.uuid4()}\n")
            (STATE / "identity" / f"{number}.machine").write_text(f"{uuid.uuid4().hex}\n")
        (STATE / "hosts").write_text("\n".join(hosts) + "\n")
        (STATE / "known_hosts").write_text("\n".join(known) + "\n")
        (STATE / "ssh_config").write_text(
            f"Host *\n  User root\n  IdentityFile {STATE}/keys/client\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {STATE}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
            "  ConnectTimeout 10\n  LogLevel ERROR\n"
        )

    def _unshare(self, name: str, namespaces: list[str], command: list[str]) -> Started:
        log = (STATE / "log" / name).open("wb")
        # It waits until it is written down: where this program is killed before, it reads the end and is gone.
        gate = ["sh", "-c", 'read -r go && exec "$@" < /dev/null', "gate"]
        process = subprocess.Popen(
            [*gate, "unshare", *namespaces, "--propagation", "private", *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "NODE_PYTHON": sys._base_executable, **self.environment},
        )
        started = Started.of(process.pid)
        record(name, started)
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
        own = os.readlink("/proc/self/ns/net")
        deadline = time.monotonic() + 60
        while os.readlink(f"/proc/{process.pid}/ns/net") == own:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name}: {(STATE / 'log' / name).read_text()[-500:]}")
            time.sleep(0.002)
        return started

    def _network_of_ctl(self, ctl: Started) -> None:
        ip(
            ctl.pid,
            [
                "link set lo up",
                "link add br0 type bridge forward_delay 0",
                f"addr add {CTL_ADDRESS}/16 dev br0",
                "link set br0 up",
            ],
        )
        hosts = ["mount", "--bind", str(STATE / "hosts"), "/etc/hosts"]
        subprocess.run(["nsenter", "-t", str(ctl.pid), "-m", *hosts], check=True)
        subprocess.run(["nsenter", "-t", str(ctl.pid), "-u", "hostname", "ctl"], check=True)

    def _start_node(self, number: int) -> Started:
        command = ["--fork", "--kill-child", str(INIT), str(number), str(STATE), *self.shared]
        return self._unshare(f"node{number}", ["-n", "-m", "-u", "-i", "-p"], command)

    def _connect(self, ctl: Started, nodes: list[Started]) -> None:
        lines = []
        for number, node in enumerate(nodes, 1):
            lines.append(f"link add v{number} type veth peer name eth0 netns {node.pid}")
            lines.append(f"link set v{number} master br0 up")
        ip(ctl.pid, lines)
        for number, node in enumerate(nodes, 1):
            ip(
                node.pid,
                [
                    "link set lo up",
                    f"link set eth0 address {hardware(number)}",
                    f"addr add {address(number)}/16 dev eth0",
                    "link set eth0 up",
                    *self._neighbours_of(number),
                ],
            )

    def _neighbours_of(self, number: int) -> list[str]:
        """On a large rig each node is told the others' hardware addresses: what it asked for itself would fall under
        the kernel's limit of neighbours, one for all namespaces, and the rest of the connections be dropped."""
        if self.count**2 < MOST_NEIGHBOURS:
            return []
        others = [other for other in range(1, self.count + 1) if other != number]
        return [
            f"neigh add {address(other)} lladdr {hardware(other)} dev eth0 nud permanent" for other in others
        ]

    def _wait_for_sshd(self, seconds: float = 120.0) -> None:
        probe = 'for a in "$@"; do until exec 3<>/dev/tcp/$a/22; do sleep .02; done; exec 3>&-; done'
        addresses = [address(number) for number in range(1, self.count + 1)]
        done = subprocess.run(
            [
                "nsenter",
                "-t",
                str(recorded()["ctl"].pid),
                "-n",
                "timeout",
                str(seconds),
                "bash",
                "-c",
                probe,
                "probe",
                *addresses,
            ],
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the nodes' sshd did not answer within {seconds} s: see {STATE}/log")

    # ---- use ----

    def init_pid(self, number: int) -> int:
        """The node's PID 1 as this machine sees it."""
        parent = recorded()[f"node{number}"].pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(children[0])

    def inside(self, number: int, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` on a node, in all of its namespaces."""
        return ["nsenter", "-t", str(self.init_pid(number)), "-a", "--", *command]

    def from_ctl(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` where the controller sits."""
        return ["nsenter", "-t", str(recorded()["ctl"].pid), "-n", "-m", "-u", "--", *command]

    def run(self, number: int, command: Sequence[str], **options) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.inside(number, command), **{"check": True, "capture_output": True, **options}
        )

    def power_off(self, number: int) -> None:
        """The node is gone at once: connections to it time out, they are not refused."""
        recorded()[f"node{number}"].kill()

    def link(self, number: int, up: bool) -> None:
        """The node's cable, pulled or plugged."""
        ip(recorded()["ctl"].pid, [f"link set v{number} {'up' if up else 'down'}"])


def recorded() -> dict[str, Started]:
    """The processes of the rig that stands, by name."""
    try:
        data = json.loads((STATE / "processes.json").read_text())
    except (OSError, ValueError):
        return {}
    return {name: Started(*values) for name, values in data.items()}


def record(name: str, started: Started) -> None:
    data = {n: [s.pid, s.start_time] for n, s in {**recorded(), name: started}.items()}
    path = STATE / "processes.json"
    path.with_suffix(".tmp").write_text(json.dumps(data))
    path.with_suffix(".tmp").replace(path)


def ip(pid: int, lines: Sequence[str]) -> None:
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "ip", "-batch", "-"],
        input="\n".join(lines) + "\n",
        text=True,
        check=True,
    )


def keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """One rig at a time on this machine: a second test run waits for the first."""
    with open(f"{STATE}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shell(count: int) -> int:
    """A person's shell in `ctl`, with ssh settings for the nodes in a home of its own; the rig ends with it."""
    with only_one(), Rig(count, shared=[sys.prefix, sys.base_prefix]) as rig:
        home = STATE / "home"
        (home / ".ssh").mkdir(mode=0o700, parents=True)
        (home / ".ssh" / "config").write_text((STATE / "ssh_config").read_text())
        (home / ".ssh" / "known_hosts").write_text((STATE / "known_hosts").read_text())
        (home / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {STATE}/ssh_config "$@"\n')
        (home / "ssh").chmod(0o755)
        print(
            f"node1 to node{count}; ssh node1, allranks check FILE (nodes: node[1-{count}]); exit ends them"
        )
        path = f"{home}:{sys.prefix}/bin:{os.environ['PATH']}"
        settings = [f"HOME={home}", f"PATH={path}", r"PS1=rig \w \$ "]
        command = rig.from_ctl(["env", *settings, "bash", "--norc", "--noprofile"])
        return subprocess.run(command, check=False).returncode


def main(words: list[str]) -> int:
    rig = Rig()
    match words:
        case ["up", *rest]:
            begin = time.monotonic()
            Rig(int(rest[0]) if rest else 3).up()
            print(f"up in {time.monotonic() - begin:.2f} s; ssh -F {STATE}/ssh_config node1, from rig.py ctl")
        case ["down"]:
            rig.down()
        case ["shell", *rest]:
            return shell(int(rest[0]) if rest else 3)
        case ["status"]:
            for name, process in recorded().items():
                print(name, "up" if process.alive() else "gone")
        case ["sh", number, *command]:
            return subprocess.run(rig.inside(int(number), command or ["bash"]), check=False).returncode
        case ["ctl", *command]:
            return subprocess.run(rig.from_ctl(command or ["bash"]), check=False).returncode
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
