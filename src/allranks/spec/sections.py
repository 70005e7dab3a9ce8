"""The sections of a run file, with each key of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from allranks.core import BLOCK, WARN
from allranks.spec import launchers, validate
from allranks.spec.keys import key
from allranks.spec.problems import Wrong
from allranks.spec.reading import (
    GPU_COUNT,
    LINE,
    NAMES_OF_VARIABLES,
    PATH,
    WORD,
    WORDS,
    Reader,
    Reading,
    auto_port,
    boolean,
    choice,
    free_mapping,
    integer,
    listed,
    own_path,
    program_path,
    scalar,
    size,
    text,
)
from allranks.spec.tree import Tree

FIRST_PORT = 39500
"""Of those that `network.port: auto` takes (`node/reserved_port.py`)."""

LEAF, LOCKSTEP = "leaf", "lockstep"
EXPERTS = (LEAF, LOCKSTEP)

SCHEDULER_WORD = text(validate.scheduler_word, pattern=validate.SCHEDULER_WORD)


def read_launcher(tree: Tree, key: str, reading: Reading) -> str:
    """The name of a launcher that starts runs; all of them are imported for an error alone."""
    raw = scalar(tree, f"a launcher, such as {launchers.DEFAULT}").raw
    if raw in launchers.names():
        if launchers.find(raw).starts:
            return raw
        raise Wrong(
            f"{raw} starts no run.", "it is only rendered.", f"give --render {raw} -o DIR to allranks plan"
        )
    return choice(launchers.startable())(tree, key, reading)


LAUNCHER = Reader(read_launcher, launchers.Startable())


@dataclass(frozen=True)
class Gpus:
    """GPUs (ranks) of a node that says nothing itself; `model` is the distinctive part of its name, or `cpu`."""

    count: int = key(GPU_COUNT, "The number.", 1)
    model: str | None = key(
        text(validate.model),
        "The GPU that every node must have; `A100-SXM4-80GB` matches `NVIDIA A100-SXM4-80GB`. `cpu` trains on CPUs: "
        "the ranks see no GPU.",
        None,
        form="the distinctive part of the name, or `cpu`",
        unset="not checked",
    )


@dataclass(frozen=True)
class Container:
    engine: str = key(
        choice(("docker", "podman", "apptainer", "none")), "The container engine.", unset="docker"
    )
    image: str = key(
        text(validate.image, pattern=validate.IMAGE),
        "A tag is resolved to its digest once, and that is kept with the run.",
        form="an image, best with its digest",
        unset="required",
    )
    mounts: tuple[str, ...] = key(
        listed(text(validate.mount, pattern=validate.MOUNT), '["/nfs:/nfs:ro"]'),
        "Folders of the node that training sees. `~` is the node's home folder.",
        (),
        form="a list of `/node:/container[:ro]`",
    )
    shm_bytes: int | None = key(
        size,
        "Size of /dev/shm. `G` and `GiB` are 2³⁰ bytes, `GB` is 10⁹.",
        None,
        unset="the node's own",
        name="shm",
    )
    pip: tuple[str, ...] = key(
        listed(text(validate.requirement, pattern=validate.NO_OPTION), '["transformers==4.52.4"]'),
        "Installed inside, on every node.",
        (),
        form="a list of packages",
    )
    extra: Mapping[str, Any] = key(free_mapping, "Further options of the engine.", {})
    wheels: str | None = key(
        PATH,
        "A folder of wheels that `pip` installs from, if the nodes have no network.",
        None,
        form="a path in the container",
        unset="pip's index",
    )


@dataclass(frozen=True)
class Environment:
    """How the training environment's Python is found on a node; `python` None means: the one in use here.

    With `lock` (a requirements file of this machine) `python` makes a virtual environment of it on every node,
    from the folder `wheels` of the node alone if that is given.
    """

    python: str | None = key(
        program_path,
        "The Python of the training environment. A relative path begins at the run file's folder.",
        None,
        form="a path, or a name on the node's PATH",
        unset="`python3`; on this machine the one that runs allranks",
    )
    modules: tuple[str, ...] = key(
        listed(text(validate.module, pattern=validate.MODULE), "[cuda/12.1]"),
        "Environment modules loaded first.",
        (),
    )
    activate: str | None = key(PATH, "A script that is sourced first.", None)
    lock: str | None = key(
        own_path,
        "Every node builds a virtual environment from it with `python`, once. A relative path begins at the run "
        "file's folder.",
        None,
        form="a requirements file",
    )
    wheels: str | None = key(
        PATH,
        "A folder of wheels that the environment is built from, if the nodes have no network.",
        None,
        form="a path on the nodes",
        unset="pip's index",
    )
    conda: str | None = key(
        text(validate.conda_name, pattern=validate.CONDA_NAME),
        "A conda environment of the nodes by its name, in place of `python`. Each node looks for it; conda's own "
        "scripts are not run.",
        None,
        form="a name",
    )
    loader: str = key(
        choice(("stock", "own")),
        "How the base model is read under ZeRO-3. `own`: each rank reads only its own bytes of the safetensors files, "
        "and nothing is sent between ranks ([loading](loading.md)). `stock`: as transformers does it.",
        "stock",
    )
    readers: int | None = key(
        integer(1, 1024, "number of ranks", 4),
        "With `loader: own`: how many ranks of a node read the base model at the same time. "
        "[The default](loading.md#one-server-for-many-ranks) depends on the file system.",
        None,
        unset="on NFS 32 in all, at least one per node; elsewhere all",
    )


@dataclass(frozen=True)
class Prepare:
    """The files that nodes keep for the next start."""

    cache: str | None = key(
        PATH,
        "A folder of each node, best on NVMe. The ranks keep there what they read of the base model, for the next "
        "start with the same layout ([the cache](loading.md#a-cache-on-each-node)). Needs `loader: own`.",
        None,
        form="an absolute path on the nodes",
        unset="no cache",
    )
    cache_limit: int | None = key(
        size,
        "The cache of a node never becomes larger than this.",
        None,
        unset="500 GiB",
    )


@dataclass(frozen=True)
class Network:
    """`interface` is `auto` or a name; `port` the rendezvous port, 0 for `auto`; `keeper_port` 0 means any free one."""

    interface: str = key(
        text(validate.interface, pattern=validate.INTERFACE),
        "`auto` takes each node's interface of its route to the head; a probe proves it.",
        "auto",
        form="`auto`, or one exact name",
    )
    port: int = key(
        auto_port,
        "The rendezvous port on the head; `auto` is the first free one from `39500` to `39999`, which the head "
        "holds for the run from its start to its end.",
        0,
        form="`auto`, or a port",
        unset="`auto`",
    )
    keeper_port: int = key(
        integer(0, 65535, "port", 0, "a TCP port is 1 to 65,535, and 0 takes any free one."),
        "The port on the head where the run's keeper accepts the other nodes; 0 takes any free one.",
        0,
    )

    @property
    def rendezvous_port(self) -> int:
        """The port in scripts that run without allranks."""
        return self.port or FIRST_PORT

    fabric: str = key(
        choice(("auto", "tcp", "ib", "roce")),
        "The transport of collectives between nodes; `auto` keeps the fastest that a probe passed.",
        "auto",
    )


@dataclass(frozen=True)
class Launch:
    with_: str = key(
        LAUNCHER,
        "The program that starts the supervisors.",
        launchers.DEFAULT,
        form="a [launcher](#launchers)",
        name="with",
    )
    restarts: int = key(
        integer(0, 1000, "number of restarts", 1),
        "How often the whole job may be started again from the newest verified checkpoint.",
        0,
    )
    standby: bool = key(
        boolean,
        "Keeps the ranks of the next attempt on standby while this one trains: started, with their libraries imported. "
        "A restart is seconds shorter; on shared storage, minutes. Needs `launch.restarts`.",
        False,
    )
    spares: int = key(
        integer(0, 16_383, "number of spare nodes", 1),
        "The last nodes, kept back: they replace one that is gone, failed twice, or has a GPU that must be reset.",
        0,
        form="0 to the number of nodes − 1",
    )
    partition: str | None = key(
        SCHEDULER_WORD, "SLURM's partition, or Flux's queue.", None, unset="the site's"
    )
    account: str | None = key(SCHEDULER_WORD, "SLURM's account, or Flux's bank.", None, unset="the site's")
    time: str | None = key(
        text(validate.time_limit),
        "The time limit of the job of SLURM or Flux.",
        None,
        form="minutes, `HH:MM:SS`, `D-HH:MM:SS`",
        unset="the site's",
    )
    address: str | None = key(
        LINE,
        "The dashboard of a running Ray cluster, as the head node reaches it.",
        None,
        form="`host:port`, `auto`",
        unset="none: the run starts its own cluster",
    )
    extra: tuple[str, ...] = key(WORDS, "Further options of the launcher.", ())
    inside: bool = False
    """In an allocation that is there already and is not the run's own; never said in a run file."""


@dataclass(frozen=True)
class Train:
    """`kind` is `llamafactory` (then `arguments` holds its keys, with YAML 1.2 values) or `command`.

    `source` is the LLaMA-Factory YAML the arguments were read from, if they came from a file; `workdir` the
    folder that the ranks start in, if the run file names one. `written` has the text of arguments whose value does not
    say how they were written, each with that value (`spec/trainer_yaml.py`); `as_words` is True for arguments that
    were given on a command line: LLaMA-Factory reads words in another way than a file.
    """

    kind: str
    arguments: Mapping[str, Any] = key(
        None,
        "LLaMA-Factory's own arguments, used as they are.",
        {},
        form="its keys, or the path of a LLaMA-Factory YAML",
        unset="",
        name="llamafactory",
        schema={
            "type": [*PATH.schema["type"], "object"],
            "pattern": PATH.schema["pattern"],
            "minProperties": 1,
            "propertyNames": NAMES_OF_VARIABLES,
        },
    )
    command: tuple[str, ...] = key(
        None,
        "A script for torchrun and its arguments, or `-m` and a module. The options of a launcher before it "
        "become keys of the run file, and a note lists them (docs/commands.md).",
        (),
        form=WORDS.form,
        unset="",
        schema={**WORDS.schema, "items": WORD},
    )
    source: str | None = None
    written: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    as_words: bool = False
    workdir: str | None = key(
        PATH,
        "The folder that the ranks start in. A relative path begins at `code` if that is shipped, else at the run "
        "file's folder, if the nodes are this machine.",
        None,
        form="a path of the training environment",
        unset="the script's folder; for `-m` that of `code` or the run file; for LLaMA-Factory one of the run's own",
    )
    experts: str = key(
        choice(EXPERTS),
        "How ZeRO-3 gathers routed experts. `leaf`: all of a layer at once. `lockstep`: all ranks gather them in one "
        "order, `experts_at_once` together, and the layer needs that much less memory. Experts that are separate "
        "modules (transformers before 5) then run on every rank, with no tokens if there are none; fused ones are "
        "gathered in slices, if they do not train (docs/plan.md).",
        LEAF,
    )
    experts_at_once: int = key(
        integer(1, 4096, "number of experts", 8),
        "With `experts: lockstep`: how many are gathered together. More need more memory and start fewer gathers.",
        8,
    )


@dataclass(frozen=True)
class Save:
    """`to` is a path in the training environment; None means the node's own run directory."""

    to: str | None = key(
        PATH,
        "Each run gets a folder of its own below it.",
        None,
        form="a path of the training environment",
        unset="the run directory",
    )
    every: int | None = key(
        integer(1, 1_000_000_000, "number of steps", 50),
        "A checkpoint every so many steps.",
        None,
        unset="the trainer's",
    )
    keep: int = key(integer(1, 1_000_000, "number of checkpoints", 3), "How many checkpoints stay.", 3)
    copy_to: str | None = key(
        PATH, "Verified adapters are copied there in the background.", None, unset="nowhere"
    )
    grace_seconds: int = key(
        integer(0, 3600, "number of seconds", 60),
        "After SIGTERM, SIGUSR1 or SIGUSR2 to a node's supervisor: the time for a save at the next step's end.",
        60,
    )
    notice: tuple[str, ...] = key(
        WORDS,
        "Run every 5 s on each node; exit code 0 means that the machine is about to be taken away, as if SIGTERM "
        "had come.",
        (),
    )


@dataclass(frozen=True)
class Alerts:
    """A run holds of these what its file says, by name."""

    webhook: str = key(
        text(validate.webhook, pattern=validate.URL),
        "It gets each verdict as JSON. Put a token into `secrets` and write `{NAME}` in its place.",
        form="a web address",
        unset="none",
    )
    command: tuple[str, ...] = key(
        WORDS, "Started on the head node; it gets each verdict as JSON on its standard input.", ()
    )
    level: str = key(
        choice((WARN, BLOCK, "end")),
        "The lowest level that is sent. `warn`: warnings, errors, unknowns and the run's end. `block`: errors and the "
        "end. `end`: the end alone.",
        WARN,
    )
