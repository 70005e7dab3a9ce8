"""Run file → `Run`. Everything that is wrong is found before anything is said."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from allranks.core import BadInput, Cluster
from allranks.core.file_kinds import is_file
from allranks.core.net import is_loopback
from allranks.spec import launcher_counts, launchers, pasted, validate
from allranks.spec import text as files
from allranks.spec import train as training
from allranks.spec.document import parsed, refuse_trainers_file
from allranks.spec.drafts import make_cluster
from allranks.spec.key_conflicts import check_together
from allranks.spec.keys import Key
from allranks.spec.launchers import Launcher
from allranks.spec.nodes import read_nodes
from allranks.spec.problems import Problems, Wrong, looks_like_token, shown
from allranks.spec.reading import MISSING, Reading, described
from allranks.spec.run import KEYS, SECTIONS, Run
from allranks.spec.sections import Container, Environment, Gpus, Launch, Network, Prepare, Save, Train
from allranks.spec.sets import apply_sets
from allranks.spec.tree import Scalar, Sequence, Table, Tree, walk
from allranks.spec.written import yaml_text

TOP = [key.name for key in KEYS]


def load(path: str | os.PathLike[str], sets: Iterable[str] = (), accept: Iterable[str] = ()) -> Run:
    """Reads the run file at `path`. `sets` are `key.key=value` (the value is YAML), `accept` ids of findings.

    Raises BadInput holding every problem of the file and of what it names (hostfile, LLaMA-Factory YAML).
    """
    file = os.fspath(path)
    return loads(files.read(file), file, sets, accept)


def loads(text: str, file: str | None = None, sets: Iterable[str] = (), accept: Iterable[str] = ()) -> Run:
    """As `load`, from text. `file` is what messages call it; its folder is where relative paths begin."""
    reading = Reading(file, Problems())
    tree = parsed(text, reading)
    refuse_trainers_file(tree, reading)
    pasted.expand(tree, reading)
    return replace(read_tree(tree, reading, sets, accept), text=text)


def read_tree(tree: Table, reading: Reading, sets: Iterable[str] = (), accept: Iterable[str] = ()) -> Run:
    """The run of a run file's tree, whose command is expanded. Its `text` is the tree as YAML. Raises BadInput."""
    sets = list(sets)
    apply_sets(tree, sets, reading)
    if any(one.startswith(("train=", "train.command=")) for one in sets):
        pasted.expand(tree, reading)
    text = yaml_text(tree)
    training.splice(tree.get("train"), reading)
    refuse_tokens(tree, reading)
    run = build(tree, reading, list(accept))
    if run is None or reading.problems.found:
        raise BadInput(reading.problems.all())
    return replace(run, text=text)


def refuse_tokens(tree: Table, reading: Reading) -> None:
    """No access token anywhere in the file. `env`, `secrets` and `nodes` look at theirs themselves."""
    options = options_before(tree)
    for path, file, line, node in walk(tree):
        if not isinstance(node, Scalar) or path.startswith(("env.", "secrets.", "nodes.")):
            continue
        name = next(part for part in reversed(path.split(".")) if not part.isdigit() or "." not in path)
        option, _, value = node.raw.partition("=")
        before = options.get(path, "")
        if (
            looks_like_token(node.raw, name)
            or looks_like_token(value, option)
            or looks_like_token(node.raw, before)
        ):
            reading.problems.add(
                f"{shown(path)}: its value looks like an access token.",
                "run files are shown, stored and shared; they must not contain a secret.",
                "export it as a variable where allranks runs, and secrets: [ITS_NAME]",
                file,
                line,
            )


def options_before(tree: Table) -> dict[str, str]:
    """The words of `train.command` that follow an option, by their paths, each with the option."""
    words = pasted.at(tree, "train.command")
    items = words.items if isinstance(words, Sequence) else []
    pairs = enumerate(itertools.pairwise(items), 1)
    return {
        f"train.command.{number}": option.raw
        for number, (option, _) in pairs
        if isinstance(option, Scalar) and option.raw.startswith("-")
    }


def read_keys(tree: Table, keys: Iterable[Key], reading: Reading) -> dict[str, Any]:
    """The values of a table's keys, by the names of their fields; absent and unusable ones are left out."""
    values = {}
    for key in keys:
        if key.read is not None and (key.section is None or isinstance(tree.get(key.name), Scalar)):
            value = reading.value(tree.get(key.name), key.path, key.read)
            if value is not MISSING:
                values[key.field] = value
    return values


def section(tree: Table, name: str, reading: Reading) -> dict[str, Any]:
    """As `read_keys`, of one section of the run file."""
    found = tree.get(name)
    if found is None:
        return {}
    keys = SECTIONS[name]
    if not isinstance(found, Table):
        reading.wrong(
            found, f"{name}: {described(found)} is not a mapping.", "", f"{name}: {{{keys[0].name}: …}}"
        )
        return {}
    reading.unknown_keys(
        found,
        f"{name}.",
        [key.name for key in keys],
        hint=lambda key: f"{key}: at the top level" if key in TOP else "",
    )
    return read_keys(found, keys, reading)


def top_hint(name: str) -> str:
    """Where an unknown key of the top level would belong."""
    if name in training.LLAMAFACTORY_KEYS:
        return f"train: {{llamafactory: {{{name}: …}}}}"
    homes = [home for home, keys in SECTIONS.items() if name in [key.name for key in keys]]
    return " or ".join(f"{home}: {{{name}: …}}" for home in homes)


def build(tree: Table, reading: Reading, accept: list[str]) -> Run | None:
    extensions = [
        key for key in tree.entries if key.startswith("x-")
    ]  # a place for anchors, as in compose files
    reading.unknown_keys(tree, "", [*TOP, *extensions], hint=top_hint)
    values = read_keys(tree, KEYS, reading)
    if isinstance(tree.get("gpus"), Scalar):  # GPU_COUNT has reported a number that cannot be used
        values["gpus"] = Gpus(values.get("gpus", 1))
    else:
        values["gpus"] = Gpus(**section(tree, "gpus", reading))
    launch = Launch(**section(tree, "launch", reading))
    same_host = values.get("same_host", False)
    cluster, known_nodes = read_cluster(tree, reading, launch, values["gpus"], same_host)
    train = read_training(tree, reading)
    values.setdefault("name", default_name(reading.file))
    values["accept"] = accepted(values.get("accept", ()), accept, reading)
    run = Run(
        **{key: value for key, value in values.items() if value is not None},
        cluster=cluster,
        train=train or Train("command"),
        file=reading.file,
        container=read_container(tree, reading),
        environment=Environment(**section(tree, "environment", reading)),
        prepare=Prepare(**section(tree, "prepare", reading)),
        network=Network(**section(tree, "network", reading)),
        launch=launch,
        save=Save(**section(tree, "save", reading)),
        alerts=section(tree, "alerts", reading),
        nodes_known=known_nodes,
    )
    check_together(run, tree, reading)
    if train is None or reading.problems.found:
        return None
    return finish(run, tree, reading)


def read_cluster(
    tree: Table, reading: Reading, launch: Launch, gpus: Gpus, same_host: bool
) -> tuple[Cluster, bool]:
    found = tree.get("nodes")
    if found is None:
        place = tree.entries.get("nodes", tree)
        reading.wrong(
            place, "nodes: missing.", "a run needs machines.", "nodes: node[1-2], or nodes: localhost"
        )
        return Cluster(()), True
    before = len(reading.problems.found)
    drafts = read_nodes(found, reading, launch.with_)
    if not drafts and len(reading.problems.found) == before:
        reading.wrong(
            found, f"nodes: {described(found)} without a node.", "a run needs machines.", "nodes: localhost"
        )
    counted = isinstance(found, Scalar) and type(found.value) is int
    return make_cluster(drafts, reading, gpus.count, same_host), not counted


def read_container(tree: Table, reading: Reading) -> Container | None:
    before = len(reading.problems.found)
    values = section(tree, "container", reading)
    found = tree.get("container")
    if not isinstance(found, Table) or values.get("engine") == "none":
        return None
    values.setdefault("engine", "docker")
    if "image" not in values:
        if len(reading.problems.found) == before:
            do = "container: {image: hiyouga/llamafactory@sha256:…}"
            reading.wrong(found, "container.image: missing.", "there is nothing to start.", do)
        return None
    return Container(**values)


def read_training(tree: Table, reading: Reading) -> Train | None:
    found = tree.get("train")
    if found is None:
        place = tree.entries.get("train", tree)
        do = "train: {llamafactory: sft.yaml}, or train: {command: [train.py]}"
        reading.wrong(place, "train: missing.", "there is nothing to run.", do)
        return None
    inner = found.get("llamafactory") if isinstance(found, Table) else None
    spliced = isinstance(inner, Table) and inner.file != reading.label and not inner.file.startswith("--set ")
    return training.read_train(found, reading, inner.file if spliced and inner is not None else None)


def default_name(file: str | None) -> str:
    stem = Path(file or "run").stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[: validate.MAX_NAME] or "run"


def accepted(in_file: Iterable[str], given: list[str], reading: Reading) -> tuple[str, ...]:
    ids = list(in_file)
    for text in given:
        try:
            ids.append(validate.finding(text))
        except Wrong as wrong:
            reading.problems.add(wrong.saw, wrong.why, wrong.do, "--accept")
    return tuple(dict.fromkeys(ids))


def finish(run: Run, tree: Table, reading: Reading) -> Run:
    """Which key wins if two say the same, the places of all keys, and the files beside the run file."""
    lines, lines_in = places(tree, reading.label)
    run = settle_trainer(run, tree, reading, lines, lines_in)
    env = training.settle_env(dict(run.env), tree.get("env"), run.network.interface != "auto", reading)
    launch = run.launch
    local = all(is_loopback(node.address) and node.port is None for node in run.cluster.nodes)
    here = run.launcher.here
    if here and local and (run.same_host or len(run.cluster.nodes) == 1):
        launch = replace(launch, with_=here)
    launcher = launchers.find(launch.with_)
    refuse_nowhere(run, launcher, tree, reading)
    note_unread(tree.get("launch"), launcher, reading)
    launcher_counts.compare(run, reading, tree.get("train") or tree)
    return replace(
        run,
        cluster=replace(run.cluster, spares=launch.spares),
        env=env,
        launch=launch,
        lines=lines,
        lines_in=lines_in,
        model_config=config_beside(reading.file) if run.train.kind == "llamafactory" else None,
        notes=tuple(reading.notes),
    )


def places(tree: Table, label: str) -> tuple[dict[str, int], dict[str, str]]:
    lines: dict[str, int] = {}
    lines_in: dict[str, str] = {}
    for path, file, line, _ in walk(tree):
        if line is not None:
            lines[path] = line
        if file != label:
            lines_in[path] = file
    return lines, lines_in


def settle_trainer(
    run: Run, tree: Table, reading: Reading, lines: dict[str, int], lines_in: dict[str, str]
) -> Run:
    train = tree.get("train")
    table = train.get("llamafactory") if isinstance(train, Table) else None
    if not isinstance(table, Table):
        return run
    ours = {
        key
        for key in ("save.to", "save.every", "save.keep", "resume", "deepspeed")
        if key in lines or key in lines_in
    }
    arguments = dict(run.train.arguments)
    taken = training.settle(table, arguments, ours, reading)
    save = {key.partition(".")[2]: value for key, value in taken.items() if key.startswith("save.")}
    changes: dict[str, Any] = {
        "train": replace(run.train, arguments=arguments),
        "save": replace(run.save, **save),
    }
    for theirs, (key, _) in training.SAME.items():
        if key in taken:
            entry = table.entries[theirs]
            lines.update({} if entry.line is None else {key: entry.line})
            lines_in.update({} if entry.file == reading.label else {key: entry.file})
    if "deepspeed" in taken:
        changes["deepspeed"] = first_existing(taken["deepspeed"], run.train.source, reading)
    if "resume" in taken:
        changes["resume"] = taken["resume"]
    return replace(run, **changes)


def first_existing(path: str, source: str | None, reading: Reading) -> str:
    """A path of the trainer's file: people mean it from the run file's folder, that file's or the current one."""
    if path.startswith(("/", "~")):
        return path
    homes = [Path(reading.folder), Path(source or "").parent, Path()]
    candidates = [os.path.normpath(home / path) for home in homes]
    return next((candidate for candidate in candidates if is_file(candidate)), candidates[0])


def refuse_nowhere(run: Run, launcher: Launcher, tree: Table, reading: Reading) -> None:
    """A relative `train.workdir` that begins nowhere: neither code is shipped, nor are the nodes this machine."""
    folder = run.train.workdir
    train = tree.get("train")
    if not folder or folder.startswith(("/", "~")) or run.code or launcher.reach == launchers.HERE:
        return
    reading.wrong(
        train.entries["workdir"] if isinstance(train, Table) else tree,
        f"train.workdir: {shown(folder)} is relative.",
        "the run file's folder is not on the nodes.",
        "the whole path on the nodes, or code: the folder that holds it",
    )


def note_unread(table: Tree | None, launcher: Launcher, reading: Reading) -> None:
    """Keys of `launch` that the chosen launcher does not read."""
    if not isinstance(table, Table):
        return
    for key, entry in table.entries.items():
        readers = [one.name for one in launchers.every() if key in one.keys and table.get(key) is not None]
        if readers and launcher.name not in readers:
            reading.note(
                "setting-unread",
                entry,
                f"launch.{key}: not used with {launcher.name}.",
                f"only {' and '.join(readers)} read{'s' if len(readers) == 1 else ''} it.",
                f"launch: {{with: {' or '.join(readers)}}}, or take it out",
            )


def config_beside(file: str | None) -> str | None:
    """`<stem>.config.json` or `config.json` in the run file's folder: the model's numbers without the model."""
    if file is None:
        return None
    beside = (Path(file).with_name(name) for name in (f"{Path(file).stem}.config.json", "config.json"))
    return next((str(path) for path in beside if is_file(str(path))), None)
