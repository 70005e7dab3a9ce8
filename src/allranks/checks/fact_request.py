"""The questions to each node: one round trip brings all facts that the checks need."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from allranks.core import Node
from allranks.node import hub_cache as hub
from allranks.plan import library_trial
from allranks.spec import Run, base_model

IMPORT_SECONDS = 180
"""A cold import of the training stack from NFS has been reported to take over two minutes."""

HUBS = ("ONLINE", "REMOTE:")
"""LLaMA-Factory's dataset_dir values that do not name a folder (0.9.5, data/parser.py)."""


def request(run: Run, plan: Any) -> dict[str, dict[str, Any]]:
    """The facts request of every node, by name (`node.facts` describes its keys)."""
    return {node.name: node_request(run, plan, node) for node in run.cluster.nodes}


def node_request(run: Run, plan: Any, node: Node) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "node": node.name,
        "address": node.address,
        "head": run.cluster.head.name,
        "peers": {peer.name: peer.address for peer in peers(run, node)},
        "ports": ports(run) if node.rank == 0 else [],
        "paths": paths(run),
        "files": files(run, plan, node),
        "imports": imports(run),
        "env": environment(plan, node),
        "limits": {"imports": IMPORT_SECONDS},
        "libraries": not run.on_cpu,
        "ssh": ssh_targets(run, node),
        "programs": [run.launcher.program] if run.launcher.program else [],
        "code": code(run),
    }
    if run.container is not None:
        # The training environment is in the image, so the host's Python does not matter.
        asked.update(python=None, imports=[], libraries=False, engine=run.container.engine)
    elif run.environment.python:
        asked["python"] = run.environment.python
    asked["configuration"] = None if run.container is not None else configuration(run, plan)
    if base_model.name_of(run) is not None or run.train.kind == "llamafactory":
        asked["model"] = model(run)
        asked["hub"] = hub_question(run)
    if run.train.kind == "llamafactory":
        asked["dataset"] = dataset(run)
    return asked


def configuration(run: Run, plan: Any) -> dict[str, Any] | None:
    """The question to a node's training libraries about the run's configuration; None if there is nothing to ask."""
    if run.train.kind == "llamafactory":
        planned = getattr(plan, "trainer", None) or {}
        return library_trial.question(run, planned, getattr(plan, "deepspeed", None))
    found = deepspeed_json(run)
    if found is None:
        return None
    path, is_shipped, filled = found
    return library_trial.question_of_script(run, path, filled, local_object(path) if is_shipped else None)


def deepspeed_json(run: Run) -> tuple[str, bool, bool] | None:
    """The DeepSpeed JSON that a script's command names after `--deepspeed` or `--deepspeed_config`: its path, whether
    it is in `code`, and whether transformers fills in its `auto` values. transformers does so after `--deepspeed`, the
    argument of its trainer, but not after DeepSpeed's own `--deepspeed_config`. None if the command has neither."""
    code = CODE if run.code else None
    folder = run.workdir(code) if run.train.kind == "command" and run.train.command else None
    words = run.script(code)[1:] if folder is not None else []
    for name, value in flags(words):
        if name in ("--deepspeed", "--deepspeed_config") and value.endswith(".json") and folder is not None:
            for path, is_shipped in located(run, [below(folder, value)]):
                return path, is_shipped, name == "--deepspeed"
    return None


def flags(words: list[str]) -> Iterator[tuple[str, str]]:
    """`(option, value)` for each word of a command: the value after its `=`, else the word that follows."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, sign, value = word.partition("=")
        yield name, value if sign else following


def local_object(path: str) -> dict[str, Any]:
    """The JSON object in a file of this machine; empty if the file cannot be read or holds something else."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def code(run: Run) -> dict[str, Any]:
    """The code that is compared between nodes (see `node.facts.code`). Empty for a container: its code is the
    image's."""
    if run.container is not None:
        return {}
    if run.train.kind != "llamafactory":
        own = (path for path in command_files(run) if path.endswith(".py"))
        script = None if run.code or run.train.command[:1] == ("-m",) else next(own, None)
        return {"script": script} if script else {}
    folder = model(run) if trusts_remote_code(run) else None
    return {"trainer": True, **({"model": folder} if folder else {})}


def trusts_remote_code(run: Run) -> bool:
    return run.train.kind == "llamafactory" and run.train.arguments.get("trust_remote_code") is True


def model(run: Run) -> str | None:
    """The model's folder on a node; None for a model of the Hub, and for one that only the image has."""
    folder = base_model.folder_of(run)
    path = path_on_node(run, folder) if folder else None
    return path if path and path.startswith(("/", "~")) else None


def model_key(run: Run) -> str:
    """The key of the run file that names the model."""
    return "train.command" if run.train.kind == "command" else "train.llamafactory.model_name_or_path"


OTHER_HUBS = ("USE_MODELSCOPE_HUB", "USE_OPENMIND_HUB")
"""With these variables LLaMA-Factory takes models from another Hub, which has its own cache."""


def hub_model(run: Run) -> tuple[str, str] | None:
    """The id and the revision of the run's model, if it is one of the Hugging Face Hub; None if it is not."""
    name, revision = base_model.name_of(run), base_model.revision_of(run)
    if run.train.kind == "command" and base_model.folder_of(run) is not None:
        return None
    if name is None or not hub.is_id(name) or not hub.is_revision(revision):
        return None
    return None if any(hub.is_set(run.env, other) for other in OTHER_HUBS) else (name, revision)


def hub_cache(run: Run) -> str | None:
    """The folder of the training environment that the run names as the Hub's cache; None if it names none."""
    named = run.train.arguments.get("cache_dir")
    if isinstance(named, str) and named:
        return named
    of_run = any(run.env.get(name) for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"))
    return hub.cache(run.env) if of_run and run.container is not None else None


def hub_question(run: Run) -> dict[str, Any] | None:
    """The question to a node about a model of the Hub; None if there is nothing to ask. If the run has a container, the
    node can look only into a cache that is mounted from it."""
    model = hub_model(run)
    cache = hub_cache(run)
    folder = path_on_node(run, cache) if cache else None
    is_found = folder.startswith(("/", "~")) if folder else cache is None and run.container is None
    if model is None or not is_found:
        return None
    return {"id": model[0], "revision": model[1], "cache": folder}


MOST_PEERS = 64
"""A node's routes depend on networks, not on single peers, so more peers than this would only repeat the answers."""


def peers(run: Run, node: Node) -> list[Node]:
    """The nodes whose route from this node is asked for: all, or in a large run the head, the node's neighbours by rank
    and some distant ones."""
    nodes = run.cluster.nodes
    if len(nodes) <= MOST_PEERS:
        return list(nodes)
    near = [nodes[(node.rank + step) % len(nodes)] for step in range(MOST_PEERS // 2)]
    far = [nodes[len(nodes) * n // (MOST_PEERS // 2)] for n in range(MOST_PEERS // 2)]
    return list({peer.name: peer for peer in (nodes[0], *near, *far)}.values())


def ssh_targets(run: Run, node: Node) -> dict[str, str]:
    """The nodes that this one must reach over SSH: for the head all others, if the launcher logs in from there."""
    if not run.launcher.logs_in_from_head or node.rank != 0:
        return {}
    return {other.name: other.address for other in run.cluster.nodes if other.rank != 0}


def ports(run: Run) -> list[int]:
    """The ports of the head that the run will listen on."""
    return [port for port in (run.network.port, run.network.keeper_port) if port]


def paths(run: Run) -> list[str]:
    """Folders that the run saves to or resumes from. A node always looks at the run directory, so it is not here."""
    wanted = [
        run.save.to,
        run.save.copy_to,
        run.resume if run.resume not in ("auto", "true", "false") else None,
    ]
    places = [path_on_node(run, run.saved(path)) for path in wanted if path and ":" not in path]
    return [path for path in places if path]


def files(run: Run, plan: Any, node: Node) -> list[str]:
    """Small files that settings name and that the checks read, and the folder that the ranks start in."""
    own = [path for path, is_shipped in [*command_paths(run), *workdir_paths(run)] if not is_shipped]
    return [path for path in [environment(plan, node).get("NCCL_TOPO_FILE"), *own] if path]


def command_files(run: Run) -> list[str]:
    """The script of `train.command` and the JSON files in its arguments (`--deepspeed_config=ds.json`). For `-m MODULE`
    the script is the module's file in the folder that the ranks start in. The module may also be an installed one."""
    return [path for path, _ in command_paths(run)]


def workdir(run: Run) -> str | None:
    """The folder that `train.workdir` names; None if the key is absent or if only a container has the folder."""
    return next((path for path, _ in workdir_paths(run)), None)


def shipped(run: Run) -> list[str]:
    """The command's files and the working directory if they are in `code` on this machine: the nodes get them only
    after the check."""
    return [path for path, is_shipped in [*command_paths(run), *workdir_paths(run)] if is_shipped]


CODE = "/\0code"
"""A placeholder for the folder of the shipped code while paths are joined. No real path contains a NUL."""


def command_paths(run: Run) -> list[tuple[str, bool]]:
    """`(path, whether it is in code)`, for `command_files`."""
    if run.train.kind != "command" or not run.train.command:
        return []
    code = CODE if run.code else None
    first, *rest = run.script(code)
    folder = run.workdir(code)
    words = [word.partition("=")[2] if word.startswith("-") and "=" in word else word for word in rest]
    named = [below(folder, word) for word in words if word.endswith(".json") and folder is not None]
    start = code or folder
    if first == "-m" and start is not None:
        first = below(start, rest[0].replace(".", "/") + ".py")
    return located(run, [*([first] if first.endswith(".py") else []), *named])


def workdir_paths(run: Run) -> list[tuple[str, bool]]:
    folder = run.workdir(CODE if run.code else None) if run.train.workdir else None
    return located(run, [folder] if folder else [])


def located(run: Run, paths: list[str]) -> list[tuple[str, bool]]:
    """Each path, with whether it is in `code` on this machine. Paths that only a container has are left out."""
    found: list[tuple[str, bool]] = []
    for path in paths:
        if path == CODE or path.startswith(CODE + "/"):
            found.append((posixpath.normpath(posixpath.join(run.code or "", path[len(CODE) + 1 :])), True))
        elif (on_node := path_on_node(run, path)) is not None:
            found.append((on_node, False))
    return found


def below(folder: str, path: str) -> str:
    """The path that a program which starts in `folder` means by `path`."""
    return path if path.startswith(("/", "~")) else posixpath.normpath(posixpath.join(folder, path))


def environment(plan: Any, node: Node) -> dict[str, str]:
    planned = getattr(plan, "environment", None)
    planned = planned if isinstance(planned, Mapping) else {}
    own = dict(planned.get("nodes") or {}).get(node.name) or {}
    return {str(name): str(value) for name, value in {**dict(planned.get("all") or {}), **own}.items()}


def imports(run: Run) -> list[str]:
    """The modules that the ranks will import. For the user's own script only torch is certain."""
    if run.train.kind != "llamafactory":
        return ["torch"]
    return ["torch", *(["deepspeed"] if uses_deepspeed(run) else []), "transformers", "peft", TUNER]


TUNER = "llamafactory.train.tuner"


def uses_deepspeed(run: Run) -> bool:
    return run.train.kind == "llamafactory" and run.deepspeed != "none"


def datasets(run: Run) -> list[str]:
    """The dataset names of a LLaMA-Factory run, split as LLaMA-Factory splits them."""
    names: list[str] = []
    for key in ("dataset", "eval_dataset"):
        value = run.train.arguments.get(key)
        parts = value.split(",") if isinstance(value, str) else value or []
        names += [str(part).strip() for part in parts if str(part).strip()]
    return names


def dataset(run: Run) -> dict[str, Any] | None:
    folder = run.train.arguments.get("dataset_dir", "data")
    if not isinstance(folder, str) or folder.startswith(HUBS):
        return None
    start = run.workdir(CODE if run.code else None)
    folder = below(start, run.here(folder)) if start else folder
    path = None if folder.startswith(CODE) else path_on_node(run, folder)
    return {"dir": path, "names": datasets(run)} if path else None


def path_on_node(run: Run, path: str, bare: bool = False) -> str | None:
    """The path on a node of a path in the training environment; None if only a container has it."""
    path = run.here(path, bare)
    if run.container is None or not path.startswith("/"):
        return path
    best: tuple[str, str] | None = None
    for mount in run.container.mounts:
        host, _, rest = mount.partition(":")
        inside = rest.partition(":")[0].rstrip("/") or "/"
        below = path == inside or path.startswith(inside.rstrip("/") + "/")
        if below and (best is None or len(inside) > len(best[1])):
            best = (host.rstrip("/"), inside)
    if best is None:
        return None
    return (best[0] + path[len(best[1].rstrip("/")) :]) or "/"
