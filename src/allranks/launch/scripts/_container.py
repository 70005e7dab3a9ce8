"""The container that a node's script starts itself in: the command for docker, podman and apptainer."""

from __future__ import annotations

from allranks.launch.scripts._job import ScriptJob
from allranks.launch.scripts._phrases import HERE, array, at_home, bash, plain
from allranks.spec import Container

INSIDE = "ALLRANKS_IN_CONTAINER"


def wrapper(job: ScriptJob, container: Container) -> str:
    """Shell lines that start this script again inside the container; `$self` is the script."""
    words = apptainer(job, container) if container.engine == "apptainer" else docker(job, container)
    image = container.image
    if container.engine == "apptainer" and not image.endswith(".sif") and "://" not in image:
        image = f"docker://{image}"
    device = ""
    if container.engine != "apptainer":
        device = (
            "  # InfiniBand, where the node has it: NCCL opens its devices there.\n"
            "  if [ -e /dev/infiniband ]; then container+=(--device=/dev/infiniband); fi\n"
        )
    return (
        f'if [ -z "${{{INSIDE}:-}}" ]; then\n'
        '  case $here in *:*|*,*) echo "$here: a mounted folder must hold no colon and no comma." >&2; exit 2 ;; esac\n'
        f"{array('container', words)}{device}"
        f'  exec "${{container[@]}}" {bash(plain(image, "the image"))} bash "$self" "$@"\n'
        "fi\n"
    )


def docker(job: ScriptJob, container: Container) -> list[str]:
    """The docker or podman command. `docker run` and `podman run` take the same options, except for the GPUs."""
    words = [container.engine, "run", "--rm", "--init", "--network=host"]
    if job.uses_gpu:
        words.append("--gpus=all" if container.engine == "docker" else "--device=nvidia.com/gpu=all")
    # NCCL pins host memory; the default limit is 64 KiB.
    words += ["--ulimit=memlock=-1", "--ulimit=stack=67108864"]
    if container.shm_bytes is not None:
        words.append(f"--shm-size={container.shm_bytes}")
    elif not any(str(name).lstrip("-") == "ipc" for name in container.extra):
        words.append("--ipc=host")  # the node's /dev/shm: Docker's own has 64 MiB
    words += [f"--env={INSIDE}=1", *(f"--env={name}" for name in job.run.secrets)]
    words += [f"--volume={at_home(mount)}" for mount in mounts(job, container)]
    words += [f"--volume={HERE}:{HERE}", *extra(container)]
    return words


def apptainer(job: ScriptJob, container: Container) -> list[str]:
    """The apptainer command. Apptainer inherits the environment, and the secrets with it; /dev/shm is the host's
    own."""
    if container.pip:
        raise job.run.refuse(
            "container.pip",
            "container.pip with apptainer.",
            "its images are read-only: pip would install into the home folder, for every other run too.",
            "an image that holds the packages",
        )
    words = ["env", f"{INSIDE}=1", "apptainer", "exec", *(["--nv"] if job.uses_gpu else [])]
    words += [f"--bind={at_home(mount)}" for mount in mounts(job, container)]
    return [*words, f"--bind={HERE}:{HERE}", *extra(container)]


def mounts(job: ScriptJob, container: Container) -> list[str]:
    """The run file's, and the folder of `code` unless one of them brings it."""
    code = job.run.code
    found = list(container.mounts)
    inside = [mount.split(":")[1 if ":" in mount else 0].rstrip("/") for mount in found]
    if code and not any(code == place or code.startswith(place + "/") for place in inside):
        found.append(f"{code}:{at_home(code)}")
    return found


def extra(container: Container) -> list[str]:
    """`{cap-add: [IPC_LOCK], privileged: true}` as options."""
    words: list[str] = []
    for name, value in container.extra.items():
        option = "--" + plain(str(name), "an option of the container").lstrip("-")
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is True:
                words.append(option)
            elif item is not False and item is not None:
                words.append(f"{option}={plain(str(item), option)}")
    return words
