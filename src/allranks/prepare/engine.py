"""Command lines for docker and podman, which take the same words. Pure: nothing is started here.

Every value is one word of an argument list; no shell reads any of them.
"""

from __future__ import annotations

from typing import Any

from allranks.prepare.description import LABEL, OURS, USER_HOME, Description, Mount

IDLE_SECONDS = 120
"""An idle container ends by itself after this time. The controller needs only seconds between two commands in it, and
allranks must leave nothing running on a node for a run that has ended."""

IDLE = """
import os, signal, sys, time
def end(*_):
    sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, end)
alone_since = time.monotonic()
while time.monotonic() - alone_since < float(sys.argv[1]):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    if any(name.isdigit() and name != "1" for name in os.listdir("/proc")):
        alone_since = time.monotonic()
    time.sleep(1)
"""
"""The container's first process. It reaps orphans, as PID 1 must, and ends if no other process has run in the container
for a while. So a container ends after its run even if no controller is left to stop it."""

MARK = "/.allranks-ready"
"""A file in the container's own layer. It is made after all of the preparation has succeeded."""

CAPABILITIES = ("IPC_LOCK", "SYS_NICE", "SYS_PTRACE")
"""Pinned memory for RDMA, NUMA placement by NCCL and torch, and py-spy's look at a rank that hangs."""


def create(wanted: Description, run_id: str) -> list[str]:
    """The command that makes and starts the container; it prints its id."""
    words = [wanted.engine, "run", "--detach", f"--name={wanted.name}", "--pull=never"]
    words += [f"--label={LABEL}.{key}={value}" for key, value in labels(wanted, run_id).items()]
    words += unless(wanted, "network", "--network=host") + ipc(wanted)
    words += unless(wanted, "user", f"--user={wanted.user}")
    words += [f"--group-add={group}" for group in wanted.groups]
    if wanted.engine == "podman" and wanted.user.partition(":")[0] != "0":
        words += unless(wanted, "userns", "--userns=keep-id")
    if wanted.gpus:
        gpus = "--gpus=all" if wanted.engine == "docker" else "--device=nvidia.com/gpu=all"
        words += unless(wanted, "gpus", gpus)
    if wanted.infiniband:
        words.append("--device=/dev/infiniband")
    if wanted.gpus or wanted.infiniband:
        # NCCL pins host memory; the engine's default of 64 KiB ends it.
        words += unless(wanted, "ulimit", "--ulimit=memlock=-1", "--ulimit=stack=67108864")
    words += [f"--cap-add={name}" for name in CAPABILITIES]
    # A set-user-ID program of the image, or one with file capabilities, gives a rank nothing.
    words += unless(wanted, "security-opt", "--security-opt=no-new-privileges")
    words += [word for mount in wanted.mounts for word in mounted(mount)]
    words += [word for mount in wanted.home_mounts() for word in mounted(mount)]
    words += [f"--env=ALLRANKS_HOME={wanted.home}", *unless(wanted, "workdir", f"--workdir={wanted.home}")]
    if wanted.user.partition(":")[0] != "0":
        # The image knows nothing of this user, and programs ask for a home and a name.
        name = wanted.user_name
        words += [f"--env=HOME={user_home(wanted)}", f"--env=USER={name}", f"--env=LOGNAME={name}"]
    words += extra(wanted)
    return [*words, f"--entrypoint={wanted.python}", wanted.image, "-I", "-S", "-c", IDLE, str(IDLE_SECONDS)]


def user_home(wanted: Description) -> str:
    """The home folder inside of a user who is not root: below allranks' own, which is mounted."""
    return f"{wanted.home}/{USER_HOME}"


def labels(wanted: Description, run_id: str) -> dict[str, str]:
    return {"home": wanted.home, "node": wanted.node, "run": run_id, "description": wanted.digest()}


def unless(wanted: Description, option: str, *words: str) -> list[str]:
    """Our words for an option, unless the run file's `container.extra` sets it."""
    return [] if wanted.option(option) else list(words)


def ipc(wanted: Description) -> list[str]:
    """`--ipc=host` makes `--shm-size` void, so that a size asks for memory of the container's own.

    All ranks of a node are in one container: they need no IPC with anything outside it.
    """
    size = [] if wanted.shm_bytes is None else [f"--shm-size={wanted.shm_bytes}"]
    if wanted.option("ipc"):
        return size
    return ["--ipc=private", *size] if size else ["--ipc=host"]


def mounted(mount: Mount) -> list[str]:
    """`--mount` fails if the folder is not there; `--volume` would make an empty one, owned by root."""
    propagation = [word for word in mount.options if word.lstrip("r") in ("private", "shared", "slave")]
    others = [word for word in mount.options if word not in ("ro", "rw", *propagation)]
    if others:  # such as SELinux's z and Z, which only --volume knows
        return [f"--volume={mount.source}:{mount.target}:{','.join(mount.options)}"]
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    fields += ["readonly"] if "ro" in mount.options else []
    fields += [f"bind-propagation={word}" for word in propagation]
    return ["--mount=" + ",".join(quoted(field) for field in fields)]


def quoted(field: str) -> str:
    """A field of the comma-separated line that --mount reads as CSV."""
    return '"' + field.replace('"', '""') + '"' if "," in field or '"' in field else field


def extra(wanted: Description) -> list[str]:
    """`{cap-add: [NET_ADMIN], privileged: true}` as options; raises ValueError for one that allranks sets itself."""
    words: list[str] = []
    for key, value in wanted.extra.items():
        name = str(key).lstrip("-")
        if name in OURS:
            raise ValueError(name)
        for item in value if isinstance(value, list | tuple) else [value]:
            words += option(name, item)
    return words


def option(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    return [f"--{name}"] if value is True else [f"--{name}={value}"]


def execute(engine: str, container: str, argv: list[str] | tuple[str, ...], **said: str) -> list[str]:
    """The command that runs `argv` in a running container; `said` are further options, such as user="0"."""
    options = [f"--{name}={value}" for name, value in said.items()]
    return [engine, "exec", "--interactive", *options, container, *argv]


def inspect(engine: str, container: str) -> list[str]:
    return [engine, "container", "inspect", container]


def inspect_image(engine: str, image: str) -> list[str]:
    return [engine, "image", "inspect", image]


def pull(engine: str, image: str) -> list[str]:
    return [engine, "pull", "--quiet", image]


def begin(engine: str, container: str) -> list[str]:
    return [engine, "start", container]


def end(engine: str, container: str, seconds: int = 10) -> list[str]:
    return [engine, "stop", f"--time={seconds}", container]


def remove(engine: str, container: str) -> list[str]:
    """By force: it is known to be allranks' own and to hold no other process."""
    return [engine, "rm", "--force", container]


def install(wanted: Description) -> list[str]:
    """pip inside, for the image's own Python, from its index or offline from the folder of wheels."""
    source = ["--no-index", f"--find-links={wanted.wheels}"] if wanted.wheels else []
    flags = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--quiet"]
    return [wanted.python, "-m", "pip", "install", *flags, *source, *wanted.pip]
