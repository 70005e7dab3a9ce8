"""Every key of the run file: how it is read, what it means, its default. One place.

`load` reads by this table, docs/run-file.md is printed from it, completion offers it. It is longer than other
modules, since one table with every key is what it is for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from allranks.spec import validate
from allranks.spec.nodes import GPU_COUNT, PORT, read_env
from allranks.spec.problems import Wrong, nearest, shown
from allranks.spec.reading import (
    Reader,
    Reading,
    boolean,
    choice,
    described,
    integer,
    listed,
    mapping,
    own_path,
    program_path,
    scalar,
    size,
    text,
    words,
)
from allranks.spec.run import LAUNCHERS
from allranks.spec.tree import Scalar, Sequence, Tree, plain

ENGINES = ("docker", "podman", "apptainer", "none")
TRANSPORTS = ("asyncssh", "openssh")
FABRICS = ("auto", "tcp", "ib", "roce")
PROFILES = ("auto", "zero3", "zero3-offload", "none")
MAX_SWEEP = 10_000


@dataclass(frozen=True)
class Key:
    """One key: its dotted path, the form of its value, its meaning and default as the reference prints them.

    `read` is None for a section and for the keys that `load` reads itself; `field` is the name in the
    dataclass of `run.py` where it is not the key's own.
    """

    path: str
    form: str
    says: str
    default: str = ""
    read: Reader | None = None
    field: str = ""

    @property
    def name(self) -> str:
        return self.path.rsplit(".", 1)[-1]


def run_name(tree: Tree, key: str, reading: Reading) -> str:
    return validate.name(scalar(tree, "such as deepseek-v3-lora").raw, "run's name")


def deepspeed(tree: Tree, key: str, reading: Reading) -> str:
    """A profile, or the path of a JSON: what holds a slash or ends in .json."""
    raw = validate.path(scalar(tree, "auto, or the path of a DeepSpeed JSON").raw)
    if raw in PROFILES:
        return raw
    if "/" not in raw and not raw.endswith((".json", ".JSON")):
        near = nearest(raw, PROFILES)
        raise Wrong(
            f"{shown(raw)} is none of {', '.join(PROFILES)} and no path.", do=near or "auto, or a path"
        )
    return reading.path(raw)


def resume(tree: Tree, key: str, reading: Reading) -> str | None:
    node = scalar(tree, "auto, or the path of a checkpoint")
    if type(node.value) is bool:
        return "auto" if node.value else None
    return validate.path(node.raw)


def free_mapping(tree: Tree, key: str, reading: Reading) -> dict[str, Any]:
    return plain(mapping(tree, "{option: value}"))


def sweep(tree: Tree, key: str, reading: Reading) -> dict[str, tuple[Any, ...]]:
    """Each argument with its values; the runs are all their combinations."""
    values: dict[str, tuple[Any, ...]] = {}
    total = 1
    for name, entry in mapping(tree, "{learning_rate: [1e-5, 5e-5]}").entries.items():
        node = entry.node
        if not isinstance(node, Sequence) or not node.items:
            reading.wrong(
                entry, f"{key}.{shown(name)}: {described(node)} is no list of values.", do="[1e-5, 5e-5]"
            )
        elif not all(isinstance(item, Scalar) for item in node.items):
            reading.wrong(entry, f"{key}.{shown(name)}: its values are not all single.", do="[1e-5, 5e-5]")
        else:
            values[name] = tuple(plain(node))
            total *= len(node.items)
    if total > MAX_SWEEP:
        raise Wrong(f"it makes {total:,} runs.", f"at most {MAX_SWEEP:,} are started.", "fewer values")
    return values


PATH = text(validate.path, "a path")
LINE = text(validate.one_line)

KEYS = (
    Key(
        "name",
        "letters, digits, `.`, `_`, `-`",
        "The run's name, part of its id.",
        "the file's name",
        run_name,
    ),
    Key(
        "nodes",
        "`node[1-2]`, `user@host`, `localhost`, a list, a mapping, or the path of a hostfile",
        "The machines, the head first. See *Nodes* below.",
        "required",
    ),
    Key(
        "user",
        "a user's name",
        "Who logs in where a node says nothing else.",
        "ssh's own choice",
        text(validate.user),
    ),
    Key(
        "gpus",
        "a number, or `{count, model}`",
        "GPUs (ranks) of each node that says nothing else. To train on CPUs: `{count: 2, model: cpu}`.",
        "1",
    ),
    Key("gpus.count", "1 to 1,024", "The number.", "1", GPU_COUNT),
    Key(
        "gpus.model",
        "the distinctive part of the name, or `cpu`",
        "The GPU that every node must have; `A100-SXM4-80GB` matches `NVIDIA A100-SXM4-80GB`. `cpu` trains on CPUs: "
        "the ranks see no GPU.",
        "not checked",
        text(validate.model),
    ),
    Key("container", "a mapping", "The container that training runs in.", "none"),
    Key(
        "container.engine",
        "`docker`, `podman`, `apptainer`, `none`",
        "What runs it.",
        "docker",
        choice(ENGINES),
    ),
    Key(
        "container.image",
        "an image, best with its digest",
        "A tag is resolved to its digest once, and that is kept with the run.",
        "required",
        text(validate.image),
    ),
    Key(
        "container.mounts",
        "a list of `/node:/container[:ro]`",
        "Folders of the node that training sees. `~` is the node's home folder.",
        "none",
        listed(text(validate.mount), '["/nfs:/nfs:ro"]'),
    ),
    Key(
        "container.shm",
        "a size: `16GiB`, `64GB`, bytes",
        "Size of /dev/shm. `G` and `GiB` are 2³⁰ bytes, `GB` is 10⁹.",
        "the node's own",
        size,
        "shm_bytes",
    ),
    Key(
        "container.pip",
        "a list of packages",
        "Installed inside, on every node.",
        "none",
        listed(text(validate.requirement), '["transformers==4.52.4"]'),
    ),
    Key(
        "container.wheels",
        "a path in the container",
        "A folder of wheels that `pip` installs from, where nodes have no network.",
        "pip's index",
        PATH,
    ),
    Key("container.extra", "a mapping", "Further options of the engine.", "none", free_mapping),
    Key(
        "environment",
        "a mapping",
        "How training's Python is found where there is no container.",
        "the node's `python3`",
    ),
    Key(
        "environment.python",
        "a path, or a name on the node's PATH",
        "The Python of the training environment. A relative path begins at the run file's folder.",
        "`python3`; on this machine the one that runs allranks",
        program_path,
    ),
    Key(
        "environment.lock",
        "a requirements file",
        "Every node builds a virtual environment of it with `python`, once. A relative path begins at the run "
        "file's folder.",
        "none",
        own_path,
    ),
    Key(
        "environment.wheels",
        "a path on the nodes",
        "A folder of wheels that the environment is built from, where nodes have no network.",
        "pip's index",
        PATH,
    ),
    Key(
        "environment.modules",
        "a list",
        "Environment modules loaded first.",
        "none",
        listed(text(validate.module), "[cuda/12.1]"),
    ),
    Key("environment.activate", "a path", "A script that is sourced first.", "none", PATH),
    Key(
        "code",
        "a folder",
        "Shipped to every node; its digest is compared. A relative path begins at the run file's folder.",
        "none",
        own_path,
    ),
    Key(
        "transport",
        "`asyncssh`, `openssh`",
        "`openssh` is for Kerberos and second factors.",
        "asyncssh",
        choice(TRANSPORTS),
    ),
    Key(
        "same_host",
        "`true`, `false`",
        "Several nodes may be one machine; names without an address are this one.",
        "false",
        boolean,
    ),
    Key("network", "a mapping", "How the ranks find and reach each other.", "all automatic"),
    Key(
        "network.interface",
        "`auto`, or one exact name",
        "`auto` takes each node's interface of its route to the head; a probe proves it.",
        "auto",
        text(validate.interface),
    ),
    Key("network.port", "1 to 65,535", "The rendezvous port on the head.", "39500", PORT),
    Key(
        "network.keeper_port",
        "0 to 65,535",
        "The port on which the head's keeper hears the other nodes; 0 is any free one.",
        "0",
        integer(0, 65535, "port", 0, "a TCP port is 1 to 65,535, and 0 takes any free one."),
    ),
    Key(
        "network.fabric",
        "`auto`, `tcp`, `ib`, `roce`",
        "What carries the collectives between nodes; `auto` keeps the fastest that a probe passed.",
        "auto",
        choice(FABRICS),
    ),
    Key("launch", "a mapping", "What starts the supervisors on the nodes.", "ssh"),
    Key(
        "launch.with",
        "`ssh`, `local`, `ray`, `slurm`, `mpi`, `pdsh`, `deepspeed`",
        "`ssh` becomes `local` where every node is this machine.",
        "ssh",
        choice(LAUNCHERS),
        "with_",
    ),
    Key(
        "launch.restarts",
        "0 to 1,000",
        "How often the whole job may be started again from the newest verified checkpoint.",
        "0",
        integer(0, 1000, "number of restarts", 1),
    ),
    Key(
        "launch.spares",
        "0 to the number of nodes − 1",
        "The last nodes, kept back: they replace one that is gone, failed twice, or has a GPU that must be reset.",
        "0",
        integer(0, 16_383, "number of spare nodes", 1),
    ),
    Key("launch.partition", "a name", "SLURM's partition.", "the site's", text(validate.scheduler_word)),
    Key("launch.account", "a name", "SLURM's account.", "the site's", text(validate.scheduler_word)),
    Key(
        "launch.time",
        "minutes, `HH:MM:SS`, `D-HH:MM:SS`",
        "SLURM's time limit.",
        "the partition's",
        text(validate.time_limit),
    ),
    Key(
        "launch.address",
        "`host:port`, `auto`",
        "Where the dashboard of a Ray cluster listens that runs already, as the head node reaches it.",
        "none: the run brings a cluster of its own",
        LINE,
    ),
    Key("launch.extra", "a list of words, or one string", "Further options of the launcher.", "none", words),
    Key("train", "a mapping with one of the first two keys below", "What is trained.", "required"),
    Key(
        "train.llamafactory",
        "its keys, or the path of a LLaMA-Factory YAML",
        "LLaMA-Factory's own arguments, used as they are.",
    ),
    Key(
        "train.command",
        "a list of words, or one string",
        "A script for torchrun and its arguments, or `-m` and a module; a leading `python` or `torchrun …` is left "
        "out, and said.",
    ),
    Key(
        "train.workdir",
        "a path of the training environment",
        "The folder that the ranks start in. A relative path begins at `code` if that is shipped, else at the run "
        "file's folder, if the nodes are this machine.",
        "the script's folder; for `-m` that of `code` or the run file; for LLaMA-Factory one of the run's own",
        PATH,
    ),
    Key(
        "deepspeed",
        "`auto`, `zero3`, `zero3-offload`, `none`, or a path",
        "The DeepSpeed configuration: a profile that the planner fills in, or a JSON of yours.",
        "auto",
        deepspeed,
    ),
    Key("save", "a mapping", "Where and how often checkpoints are written.", "in the run directory"),
    Key(
        "save.to",
        "a path of the training environment",
        "Each run gets a folder of its own below it.",
        "the run directory",
        PATH,
    ),
    Key(
        "save.every",
        "steps",
        "A checkpoint every so many steps.",
        "the trainer's",
        integer(1, 1_000_000_000, "number of steps", 50),
    ),
    Key(
        "save.keep",
        "a number",
        "How many checkpoints stay.",
        "3",
        integer(1, 1_000_000, "number of checkpoints", 3),
    ),
    Key("save.copy_to", "a path", "Verified adapters are copied there in the background.", "nowhere", PATH),
    Key(
        "save.grace_seconds",
        "a number",
        "After SIGTERM, SIGUSR1 or SIGUSR2 to a node's supervisor: the time for a save at the next step's end.",
        "60",
        integer(0, 3600, "number of seconds", 60),
    ),
    Key(
        "save.notice",
        "a list of words, or one string",
        "Asked every 5 s on each node; exit code 0 means that the machine goes away, as a signal does.",
        "none",
        words,
    ),
    Key(
        "env",
        "a mapping from names to values",
        "Variables of every rank; values are taken as written.",
        "none",
        read_env,
    ),
    Key(
        "secrets",
        "a list of names",
        "Variables whose values come from the environment of allranks and appear in no file.",
        "none",
        listed(text(validate.secret, "such as HF_TOKEN"), "[HF_TOKEN]"),
    ),
    Key(
        "accept",
        "a list of ids",
        "Findings that may pass.",
        "none",
        listed(text(validate.finding), "[driver-differs]"),
    ),
    Key(
        "resume",
        "`auto`, or a path",
        "Where training goes on: `auto` takes the newest verified checkpoint.",
        "from the start",
        resume,
    ),
    Key("alerts", "a mapping", "Who hears of a verdict.", "nobody"),
    Key(
        "alerts.webhook",
        "a web address",
        "It gets each verdict as JSON; `{NAME}` in it is a secret of the run, and a token stands behind one.",
        "none",
        text(validate.webhook),
    ),
    Key(
        "alerts.command",
        "a list of words, or one string",
        "Started on the head node; it gets each verdict as JSON on its standard input.",
        "none",
        words,
    ),
    Key(
        "sweep",
        "a mapping from arguments to lists",
        "One run for each combination of values, as one SLURM job array: `launch.with: slurm` alone.",
        "none",
        sweep,
    ),
)

SECTIONS = ("gpus", "container", "environment", "network", "launch", "train", "save", "alerts")

NODE_KEYS = (
    Key("nodes[].name", "a name or a range", "The node's name in everything that is said.", "its address"),
    Key("nodes[].address", "a host, an ssh alias, an address", "How it is reached.", "its name"),
    Key("nodes[].gpus", "1 to 1,024", "Its GPUs (ranks).", "`gpus`"),
    Key("nodes[].interface", "one exact name", "Its network interface.", "`network.interface`"),
    Key("nodes[].port", "1 to 65,535", "Its ssh port.", "ssh's own choice"),
    Key("nodes[].user", "a user's name", "Who logs in there.", "`user`"),
    Key("nodes[].labels", "a mapping", "Words of yours, such as its rack.", "none"),
    Key("nodes[].env", "a mapping", "Variables of its ranks, over those in `env`.", "none"),
)

BY_PATH = {key.path: key for key in KEYS}


def schema_keys() -> tuple[Key, ...]:
    """Every key of the run file in the order of the reference, those of a node's mapping last."""
    return (*KEYS, *NODE_KEYS)


def below(section: str) -> list[str]:
    """The names of a section's keys; of the top level for an empty name."""
    return [key.name for key in KEYS if key.path.rpartition(".")[0] == section]


def elsewhere(name: str) -> Iterable[str]:
    """The full paths of keys that have this name in some section."""
    return [key.path for key in KEYS if key.name == name and "." in key.path]
