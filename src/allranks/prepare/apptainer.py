"""Command lines for apptainer. Pure: nothing is started here.

An instance takes the place of a container: it lives until somebody stops it, and commands run inside it. It shares
the node's processes, network and /dev/shm, and runs as the node's user.
"""

from __future__ import annotations

from collections.abc import Sequence

from allranks.prepare.description import Description, Mount
from allranks.prepare.engine import extra


def create(wanted: Description) -> list[str]:
    """The command that starts the instance. `--cleanenv` keeps a login shell's variables outside, since they differ by
    node. Apptainer itself forbids new privileges."""
    words = ["apptainer", "instance", "start", "--cleanenv"]
    words += ["--nv"] if wanted.gpus else []
    words += [f"--bind={bound(mount)}" for mount in (*wanted.mounts, *wanted.home_mounts())]
    return [*words, *extra(wanted), image(wanted.image), wanted.name]


OWN_GPUS = """\
[ -z "${CUDA_VISIBLE_DEVICES:-}" ] || export APPTAINERENV_CUDA_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES"; exec "$@\""""
"""`--cleanenv` drops every variable but those."""


def execute(instance: str, argv: Sequence[str], home: str) -> list[str]:
    inside = ["apptainer", "exec", "--cleanenv", f"--env=ALLRANKS_HOME={home}", "--pwd=/"]
    return [*inside, f"instance://{instance}", *argv]


def bound(mount: Mount) -> str:
    options = ",".join(word for word in mount.options if word in ("ro", "rw"))
    return f"{mount.source}:{mount.target}" + (f":{options}" if options else "")


def image(name: str) -> str:
    """The image's name with its scheme. A name without a scheme that is not a file is in Docker's registry."""
    return name if "://" in name or name.endswith(".sif") or name.startswith("/") else f"docker://{name}"


def listing() -> list[str]:
    """The user's own instances as JSON: `instances: [{instance, pid, img}]`."""
    return ["apptainer", "instance", "list", "--json"]


def end(instance: str) -> list[str]:
    return ["apptainer", "instance", "stop", "--timeout=10", instance]
