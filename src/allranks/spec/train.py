"""Reads `train:`: the command that torchrun starts, and the key that wins if the trainer's arguments set the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allranks.core import BadInput
from allranks.spec import text as files
from allranks.spec import trainer_yaml, validate
from allranks.spec.commands import llamafactory, no_script
from allranks.spec.keys import declared
from allranks.spec.problems import Wrong, shown
from allranks.spec.reading import MISSING, WORDS, Reading, described, mapping
from allranks.spec.sections import Train
from allranks.spec.tree import Entry, Scalar, Table, Tree, plain
from allranks.spec.yaml12 import parse

KEYS = tuple(key.name for key in declared(Train))
BESIDE = frozenset(key.name for key in declared(Train) if key.read is not None)
"""The keys of `train` that set how the training runs, and not what is trained."""

STARTS_RANKS = ("horovodrun", "pdsh", "ssh", "sbatch", "salloc", "qsub", "bsub", "flux", "kubectl")
"""Programs that start ranks or jobs and whose options are not known here (`spec/commands/` holds the known ones)."""

CONTAINERS = ("docker", "podman", "singularity", "apptainer", "shifter", "enroot")
NO_SCRIPTS = ("zsh", "dash", "poetry", "pdm", "pixi", *CONTAINERS)


def splice(train: Tree | None, reading: Reading) -> str | None:
    """Replaces `llamafactory: FILE` by the content of FILE. Each part keeps FILE's name and its line.

    Returns FILE if that was done. If FILE cannot be read, the error is reported and the scalar stays.
    """
    entry = train.entries.get("llamafactory") if isinstance(train, Table) else None
    if entry is None or not isinstance(entry.node, Scalar) or entry.node.value is None:
        return None
    node = entry.node
    try:
        path = reading.path(validate.path(node.raw))
        tree = parse(files.read(files.at_home(path), path), path, reading.problems)
    except Wrong as wrong:
        reading.refuse(node, "train.llamafactory", wrong)
        return None
    except BadInput as error:
        reading.adopt(error, node, "train.llamafactory")
        return None
    if not isinstance(tree, Table):
        seen = "it is empty." if tree is None else f"this is {described(tree)}, not its keys."
        reading.wrong(node, f"train.llamafactory: {shown(node.raw)}: {seen}", do="a LLaMA-Factory YAML")
        return None
    if "train" in tree.entries and "nodes" in tree.entries:
        reading.wrong(
            node, f"train.llamafactory: {shown(node.raw)} is a run file itself.", do="a LLaMA-Factory YAML"
        )
        return None
    if refused_version(tree, node, reading):
        return None
    entry.node = tree
    return path


def refused_version(tree: Table, node: Scalar, reading: Reading) -> bool:
    """Whether it is a YAML of LLaMA-Factory's version 1, which is another program with arguments of its own."""
    if (
        "model" not in tree.entries
        or "model_name_or_path" in tree.entries
        or not llamafactory.V1_KEYS & set(tree.entries)
    ):
        return False
    reading.wrong(
        node,
        f"train.llamafactory: {shown(node.raw)} is a configuration of LLaMA-Factory's version 1: "
        "it has model, not model_name_or_path.",
        "train.llamafactory takes version 0; version 1 runs as a command, without a memory plan.",
        f"train: {{command: [-m, {llamafactory.V1}, sft, {shown(node.raw)}]}}",
    )
    return True


def read_train(tree: Tree, reading: Reading, source: str | None) -> Train | None:
    """The training part; None if it cannot be used. `source` is the file that was spliced in."""
    if not isinstance(tree, Table):
        reading.wrong(tree, f"train: {described(tree)} is not a mapping.", "", suggestion(tree))
        return None
    reading.unknown_keys(tree, "train.", KEYS, hint=belongs_to_llamafactory)
    given = [key for key in ("llamafactory", "command") if key in tree.entries]
    if len(given) != 1:
        if given or not tree.entries.keys() - BESIDE:
            seen = "both llamafactory and command." if given else "neither llamafactory nor command."
            reading.wrong(
                tree, f"train: {seen}", "a run trains one thing.", "train: {llamafactory: sft.yaml}"
            )
        return None
    beside = {
        one.field: reading.value(tree.get(one.name), one.path, one.read)
        for one in declared(Train, "train.")
        if one.name in BESIDE and one.name in tree.entries and one.read is not None
    }
    beside = {name: value for name, value in beside.items() if value is not MISSING}
    if given == ["command"]:
        command = reading.value(
            tree.get("command") or tree.entries["command"].node, "train.command", read_command
        )
        return None if command is MISSING else Train("command", command=command, **beside)
    node = tree.entries["llamafactory"].node
    if isinstance(node, Scalar) and node.value is not None:
        return None  # a file that could not be read; `splice` has said why
    arguments = reading.value(node, "train.llamafactory", read_arguments)
    if arguments is MISSING:
        return None
    written = written_arguments(node, source)
    return Train(
        "llamafactory",
        arguments=arguments,
        source=source,
        written=written,
        as_words=reading.trainer_words,
        **beside,
    )


def written_arguments(table: Tree, source: str | None) -> dict[str, tuple[Any, str]]:
    """The arguments whose text differs from what their values alone would give, each with its value."""
    if not isinstance(table, Table):
        return {}
    found = {
        name: (plain(e.node), trainer_yaml.as_written(e.node, source)) for name, e in table.entries.items()
    }
    return {name: one for name, one in found.items() if one[1] != trainer_yaml.text(one[0])}


def suggestion(tree: Tree) -> str:
    raw = tree.raw if isinstance(tree, Scalar) else "train.py"
    if raw.endswith((".yaml", ".yml", ".json")):
        return f"train: {{llamafactory: {shown(raw)}}}"
    return f"train: {{command: [{shown(raw)}]}}"


def belongs_to_llamafactory(key: str) -> str:
    return "llamafactory: with this key below it" if key in LLAMAFACTORY_KEYS else ""


def read_arguments(tree: Tree, key: str, reading: Reading) -> dict[str, Any]:
    table = mapping(tree, "LLaMA-Factory's keys, or the path of its YAML")
    if not table.entries:
        raise Wrong("it has no key.", "LLaMA-Factory would not know what to train.", "stage: sft, and so on")
    for name, entry in table.entries.items():
        if not re.fullmatch(validate.VARIABLE, name):
            reading.wrong(
                entry,
                f"{key}.{shown(name)}: no argument has such a name.",
                "LLaMA-Factory's arguments are words joined by `_`.",
                shown(name).lstrip("-").replace("-", "_"),
            )
    return plain(table)


def read_command(tree: Tree, key: str, reading: Reading) -> tuple[str, ...]:
    """The script and its arguments; `pasted.expand` has taken launchers and shell syntax away."""
    before = len(reading.problems.found)
    command = WORDS(tree, key, reading)
    if len(reading.problems.found) == before:
        check_script(command)
    return command


def check_script(command: Sequence[str]) -> None:
    if not command or not command[0].strip():
        raise no_script()
    first = command[0].rsplit("/", 1)[-1]
    if first in STARTS_RANKS:
        raise Wrong(
            f"{first} starts ranks itself.",
            "each rank would start ranks of its own.",
            "the script and its arguments alone",
        )
    if first in NO_SCRIPTS:
        fix = "the script and its arguments alone"
        fix += "; container: {image: …} for its image" if first in CONTAINERS else ""
        raise Wrong(f"{first} is not a Python script.", "torchrun runs Python.", fix)
    if command[0] == "-m" and (len(command) < 2 or not re.fullmatch(r"[A-Za-z_][\w.]*", command[1])):
        raise Wrong("-m without a module's name.", do="command: [-m, package.train]")
    if command[0].startswith("-") and command[0] != "-m":
        raise Wrong(
            f"{shown(command[0])} is not a script.", "torchrun would read it as its own.", "the script first"
        )


LLAMAFACTORY_KEYS = frozenset(
    (
        *("adapter_name_or_path", "bf16", "cutoff_len", "dataset", "dataset_dir", "ddp_timeout"),
        *("do_train", "finetuning_type", "fp16", "gradient_accumulation_steps", "learning_rate"),
        *("lora_alpha", "lora_rank", "lora_target", "lr_scheduler_type", "max_samples", "max_steps"),
        *("model_name_or_path", "num_train_epochs", "output_dir", "overwrite_cache"),
        *("per_device_train_batch_size", "save_steps", "stage", "template", "trust_remote_code"),
    )
)
"""The commonest keys of its example files: enough to recognize a LLaMA-Factory YAML."""

Taker = Callable[[Any], Any]


def whole(value: Any) -> Any:
    return value if type(value) is int and value > 0 else MISSING


def some_text(value: Any) -> Any:
    return value if isinstance(value, str) and value else MISSING


def resume_of(value: Any) -> Any:
    return "auto" if value is True else None if value in (False, None) else some_text(value)


SAME: Mapping[str, tuple[str, Taker]] = {
    "output_dir": ("save.to", some_text),
    "save_steps": ("save.every", whole),
    "save_total_limit": ("save.keep", whole),
    "resume_from_checkpoint": ("resume", resume_of),
    "deepspeed": ("deepspeed", some_text),
}
"""LLaMA-Factory's key → ours, and how its value becomes ours if the run file has no such key."""


def settle(table: Table, arguments: dict[str, Any], ours: set[str], reading: Reading) -> dict[str, Any]:
    """One owner for each setting. `ours` holds the run file's keys.

    If both are given, ours wins, the trainer's key is dropped, and a note says so. If only the trainer's is given,
    its value becomes ours: the returned mapping of our keys. Afterwards `arguments` holds neither, except
    `resume_from_checkpoint`, which the trainer needs in any case.
    """
    taken: dict[str, Any] = {}
    for theirs, (key, take) in SAME.items():
        if theirs not in arguments:
            continue
        if key in ours:
            said_twice(reading, table.entries[theirs], theirs, arguments.pop(theirs), key)
            continue
        if theirs == "save_steps" and arguments.get("save_strategy", "steps") != "steps":
            continue
        value = take(arguments[theirs])
        if value is MISSING:
            if theirs == "deepspeed":
                inline_deepspeed(table.entries[theirs], arguments.pop(theirs), reading)
            continue
        taken[key] = value
        if theirs != "resume_from_checkpoint":
            del arguments[theirs]
    if "save.every" in ours and arguments.get("save_strategy", "steps") != "steps":
        said_twice(
            reading,
            table.entries["save_strategy"],
            "save_strategy",
            arguments.pop("save_strategy"),
            "save.every",
        )
    return taken


def inline_deepspeed(entry: Entry, value: Any, reading: Reading) -> None:
    if value is not None:
        reading.wrong(
            entry,
            "train.llamafactory.deepspeed: this is the configuration itself.",
            "allranks takes a profile or the path of a JSON, so that every rank reads the same one.",
            "write it to ds.json, and deepspeed: ds.json at the top of the run file",
        )


def said_twice(reading: Reading, entry: Entry, theirs: str, value: Any, ours: str) -> None:
    reading.note(
        "setting-said-twice",
        entry,
        f"train.llamafactory.{theirs}: {shown(value)} is not used, since {ours} is given.",
        f"both are the same setting; {ours} wins.",
        f"take {theirs} or {ours} out",
    )


def settle_env(env: dict[str, str], table: Tree | None, interface: bool, reading: Reading) -> dict[str, str]:
    """The variables without those that torchrun or `network` sets in any case."""
    kept = {}
    for name, value in env.items():
        if name in validate.PLACES_RANKS:
            winner = "torchrun sets it for every rank"
        elif interface and name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
            winner = "network.interface says it"
        else:
            kept[name] = value
            continue
        assert isinstance(table, Table)
        reading.note(
            "setting-said-twice",
            table.entries[name],
            f"env.{name}: {shown(value)} is not used, since {winner}.",
            "only one of the two values can be used.",
            f"take {name} out of env",
        )
    return kept
