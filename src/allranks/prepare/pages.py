"""The pages of what preparing a node can find."""

from __future__ import annotations

from allranks.core.pages import Page, parse

PAGES: dict[str, str] = {
    "container-engine-failed": """The container engine of a node fails at a simple command.

## How it is found
What docker, podman or apptainer answers when allranks asks for an image or a container.

## Why it matters
No container can be made there, and a run needs every node.

## What to do
The same command by hand on that node shows the same error: fix it there.

Topic: software
""",
    "image-missing": """A node does not have the image that the head has, and cannot pull it.

## How it is found
The image's id on the head, and whether a registry gave it a digest by which others can have the same.

## Why it matters
A name alone may mean another image on each node.

## What to do
Push the image to a registry that all nodes reach, or load it from a file: `docker save` and `docker load`.

Topic: software
""",
    "image-differs": """The image's name means another image on this node than on the head.

## How it is found
The id of the image's configuration on each node.

## Why it matters
Ranks of different versions build different tensors, or refuse each other in the first collective.

## What to do
Name the image by its digest (`container: {image: name@sha256:…}`), or pull it again on that node.

Topic: software
""",
    "image-not-pulled": """The engine cannot pull the image.

## How it is found
The engine's own answer to `pull`. Apptainer builds its file of a registry's image with `apptainer pull`.

## Why it matters
No container can be made there.

## What to do
Log in to the registry on that node, repair its network, or load the image from a file. Docker Hub allows few pulls per
hour without a login, and many nodes behind one address soon reach that limit.

Topic: software
""",
    "container-pip-failed": """pip cannot install the packages of `container.pip` inside.

## How it is found
pip's own exit code, in the container, on each node.

## Why it matters
The ranks would run the image's versions instead of the ones asked for.

## What to do
Fix the error of pip. If nodes have no network, put wheels into a folder that the container sees and name it:
`container: {wheels: /nfs/wheels}`.

Topic: software
""",
    "container-not-made": """The engine cannot make the container.

## How it is found
The engine's own answer to `run`: a mount's folder that is not there, an image without Python, a GPU runtime
that is not installed.

## Why it matters
No rank can run on that node.

## What to do
The message names the option. allranks does not make the folder of a mount: docker would make an empty one that
belongs to root, and the run would find no model in it.

Topic: software
""",
    "container-foreign": """Somebody else made a container with the name that allranks uses.

## How it is found
The labels `org.allranks.home` and `org.allranks.node` of the container that has the name.

## Why it matters
allranks neither uses nor removes a container that it did not make.

## What to do
Ask who made it, rename it, or give the run another name.

Topic: software
""",
    "container-busy": """Something already runs in the container.

## How it is found
The processes in it besides its first.

## Why it matters
Two runs in one container share its /dev/shm and end with it together.

## What to do
`allranks stop RUN` for the run in it, or another `name` for this one.

Topic: software
""",
    "container-goes-on": """A run was stopped, but its container still runs, because other processes use it.

## How it is found
The processes that are left in the container after the run's own have ended, besides its first: a shell from `docker
exec`, or another program that somebody started in it.

## Why it matters
allranks ends only processes that its own run started. The container keeps its memory, its GPUs and its /dev/shm as long
as it runs.

## What to do
Ask whose they are; `docker top NAME` on the node lists them with their users. When the last of them has ended, the
container ends by itself within two minutes. Then `allranks clean RUN` removes it.

Topic: software
""",
    "container-shm": """`/dev/shm` in the container is not as large as `container.shm` asked.

## How it is found
The size of /dev/shm, read inside the container after it was made.

## Why it matters
Data loaders end with "Bus error", NCCL with "Error while creating shared memory segment". With `--ipc host`
the host's /dev/shm is used and `--shm-size` does nothing, although many guides give both.

## What to do
`container: {shm: 16GiB}` without `ipc: host` in `container.extra`.

Topic: software
""",
    "container-mount": """A mount of the container is not what the run file says.

## How it is found
allranks looks at each target of `container.mounts` from inside: whether it is a mount, and whether the run's user may
write there if the mount is not `:ro`.

## Why it matters
Files written outside the mounts fill the host's image store and are lost with the container.

## What to do
Give the run's user the folder, or write `:ro`. The user inside is the one that logs in to the node.

Topic: software
""",
    "environment-not-built": """The training environment cannot be built on a node from its lock file.

## How it is found
`python -m venv` and `pip install -r` with the file of `environment.lock`, on each node.

## Why it matters
The node's ranks would have no environment, or another one than the other ranks.

## What to do
Fix the error of pip. If nodes have no network: `environment: {wheels: a folder of wheels}`.

Topic: software
""",
    "activation-failed": """The modules or the activation script of the environment fail on a node.

## How it is found
`module load …` and the sourcing of `environment.activate` in a login shell on each node.

## Why it matters
Libraries and programs that the ranks need would not be found there.

## What to do
Run the same commands in a login shell on that node: they show the same error.

Topic: software
""",
    "conda-environment": """A node has no conda environment of the name that the run file gives, or several.

## How it is found
~/.conda/environments.txt of the node, its conda's folder of environments, CONDA_ENVS_PATH, and the places where
the installers put conda. conda is not run.

## Why it matters
The ranks would have no Python to train with.

## What to do
Use one of the listed names, or the path of the environment's Python: environment: {python: PATH/bin/python}.

Topic: software
""",
    "port-freed": """A dead run of allranks held a port that this run needs, and the port was freed.

## How it is found
Who listens on the run's ports at the head, and whether that process was recorded by a run whose supervisor and
keeper are gone.

## Why it matters
The new rendezvous would have waited for the old one until it timed out.

## What to do
Nothing. A port of a run that is still led, or of anybody else, is only reported: `port-held`.

Topic: start
""",
    "node-excluded": """A node failed its check and was left out of the run, as `run --exclude-unready` asks.

## How it is found
The findings about each node that stop a launch, of all checks. Findings about the run file or about all nodes leave
no node out: they stop the launch as they always do.

## Why it matters
The run begins without that node. A spare (`launch.spares`) takes its place. Without a spare fewer ranks train: a step
sees fewer samples, and each rank holds a larger part of the model.

## What to do
Repair the node and include it in the next run; `allranks check FILE` shows what is wrong there.

Topic: start
""",
    "ops-not-built": """DeepSpeed's operators cannot be compiled ahead on a node.

## How it is found
The build of the operators that the planned configuration uses, on each node before the launch.

## Why it matters
The ranks would try the same in the middle of the start, all at once, and end with the same error.

## What to do
Install what the build misses: a C++ compiler and ninja, for CUDA operators the toolkit that fits torch.

Topic: software
""",
    "dataset-not-tokenized": """The dataset could not be tokenized before the launch.

## How it is found
LLaMA-Factory's own preprocessing, run once on a node.

## Why it matters
The ranks will do it during the launch: one rank of each node works while the others wait.

## What to do
Read the trainer's own message: it names a wrong column or template, as it would in the run.

Topic: storage
""",
}

SOURCE = "The exit code and output of each command that prepares a node."


def ids() -> list[str]:
    return sorted(PAGES)


def page(name: str) -> Page:
    """The page of an id. Raises KeyError for an unknown one."""
    return parse(name, PAGES[name], source=SOURCE)
