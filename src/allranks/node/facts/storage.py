"""Folders that the run writes to, the model's files, the dataset, and small files that settings name.

Every path is looked at in its own process: one dead mount costs its own path and no other.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.node.facts import _reader_processes
from allranks.node.facts._commands import run, text
from allranks.node.facts._reading import Reading, Unreadable, why
from allranks.node.paths import home

SECONDS = 20.0
MODEL_SECONDS = 16.0
"""Reads the header of every shard: 163 of them over a busy NFS server take some seconds."""

PATH_SECONDS = 8.0
"""An NFS server that is alive answers a stat in milliseconds; `hard` mounts to a dead one never return."""

WRITE_BYTES = 1 << 20
MOST_CONFIG_BYTES = 1 << 20
MOST_FILES = 4096
SMALL_FILE_BYTES = 256 << 10
WEIGHTS = (".safetensors", ".bin", ".pt")
INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
MOST_STRIPED = 16
"""Files whose layout is read: a model has one, or many that are laid out alike."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    """Reads everything at once, so that a path that hangs does not delay the others."""
    tasks: Dict[str, Any] = {}
    asked = request.get("paths") or []
    paths = [str(path) for path in (asked.values() if isinstance(asked, Mapping) else asked)]
    for path in [*paths, home(), "/dev/shm"]:
        tasks["paths " + path] = lambda path=path: read_path(path)
    for path in [str(path) for path in request.get("files") or []]:
        tasks["files " + path] = lambda path=path: read_file(path)
    if request.get("model"):
        tasks["model "] = lambda: read_model(str(request["model"]))
    dataset = request.get("dataset")
    if isinstance(dataset, Mapping) and dataset.get("dir"):
        names = [str(name) for name in dataset.get("names") or []]
        tasks["dataset "] = lambda: read_dataset(str(dataset["dir"]), names)
    limits = {key: PATH_SECONDS if key.startswith(("paths ", "files ")) else MODEL_SECONDS for key in tasks}
    answers = _reader_processes.calls(tasks, limits)
    for fact in ("paths", "files"):
        _several(reading, fact, {k[6:]: answer for k, answer in answers.items() if k.startswith(fact + " ")})
    for fact in ("model", "dataset"):
        if fact + " " in answers:
            reading.fact(fact, answers[fact + " "])


def _several(reading: Reading, fact: str, answers: Mapping[str, Any]) -> None:
    """One fact of many paths: those that answered, and `paths.<path>` unreadable for each that did not."""
    found = {}
    for path, answer in answers.items():
        try:
            found[path] = answer()
        except Unreadable as error:
            found[path] = {"path": path, "unreadable": str(error)}
            reading.miss(f"{fact}.{path}", str(error))
    reading.put(fact, found)


# ---- folders ----


def read_path(path: str) -> Dict[str, Any]:
    """Whether `path` can take what the run writes; a missing folder is judged by its nearest parent."""
    path = os.path.expanduser(path)
    parent = nearest(path)
    space = os.statvfs(parent)
    mount = mount_of(os.path.realpath(parent), parse_mounts(text("/proc/self/mountinfo", 8 << 20)))
    found: Dict[str, Any] = {
        "path": path,
        "exists": os.path.exists(path),
        "folder": os.path.isdir(path),
        "looked_at": parent,
        "mount": mount.get("mount"),
        "type": mount.get("type"),
        "source": mount.get("source"),
        "device": f"{os.major(os.stat(parent).st_dev)}:{os.minor(os.stat(parent).st_dev)}",
        "options": mount.get("options", []),
        "total_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
        "inodes": space.f_files,
        "free_inodes": space.f_favail,
    }
    try:
        found["write_seconds"] = write_trial(parent)
        found["writable"] = True
    except OSError as error:
        found["writable"] = False
        found["reason"] = why(error) if error.strerror else str(error)
    return found


def nearest(path: str) -> str:
    """`path`, or the first of its parents that is there."""
    path = os.path.abspath(path)
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def write_trial(folder: str) -> float:
    """Seconds to write 1 MiB through to the disk, in a file without a name where the filesystem can.

    Raises OSError if it may not be written. On a full disk less than 1 MiB may have fitted.
    """
    if not os.path.isdir(folder):
        raise NotADirectoryError(20, os.strerror(20), folder)
    began = time.monotonic()
    with tempfile.TemporaryFile(dir=folder, prefix=".allranks-") as file:
        file.write(b"\0" * WRITE_BYTES)
        file.flush()
        os.fsync(file.fileno())
    return round(time.monotonic() - began, 4)


def parse_mounts(content: str) -> List[Dict[str, Any]]:
    """/proc/self/mountinfo (proc(5)) in mount order: `mount`, `type`, `source`, `options`, `device`."""
    found = []
    for row in content.splitlines():
        left, separator, right = row.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 2:
            continue
        options = {*fields[5].split(","), *(tail[2].split(",") if len(tail) > 2 else ())}
        one = {
            "mount": unescape(fields[4]),
            "type": tail[0],
            "source": unescape(tail[1]),
            "device": fields[2],
        }
        found.append({**one, "options": sorted(options)})
    return found


def unescape(word: str) -> str:
    """mountinfo writes space, tab, newline and backslash as octal."""
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        word = word.replace(code, sign)
    return word


def mount_of(path: str, mounts: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The mount that `path` is on: the longest, and of equal ones the last mounted."""
    best: Dict[str, Any] = {}
    for mount in mounts:
        point = mount["mount"].rstrip("/") + "/"
        if (path + "/").startswith(point) and len(mount["mount"]) >= len(best.get("mount", "")):
            best = mount
    return best


def read_file(path: str) -> Dict[str, Any]:
    path = os.path.expanduser(path)
    if not os.path.exists(path):
        return {"exists": False}
    if not os.path.isfile(path):
        return {"exists": True, "folder": os.path.isdir(path), "text": None}
    return {"exists": True, "bytes": os.path.getsize(path), "text": text(path, SMALL_FILE_BYTES)}


# ---- the model ----


def read_model(folder: str) -> Dict[str, Any]:
    """The folder's files and sizes, `config`, and what the safetensors index wants and is not there.

    A name without a slash that is not a folder is a Hub's model id: `exists` is False then.
    """
    folder = os.path.expanduser(folder)
    found: Dict[str, Any] = {"path": folder, "exists": os.path.isdir(folder)}
    if not found["exists"]:
        return found
    files = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file() and len(files) < MOST_FILES:
                files[entry.name] = entry.stat().st_size
    found["files"] = dict(sorted(files.items()))
    found["config"], found["config_trouble"] = read_config(os.path.join(folder, "config.json"))
    index = found["index"] = next((name for name in INDICES if name in files), None)
    if index is not None:
        names, trouble = read_json(os.path.join(folder, index), 64 << 20)
        found.update({"index_trouble": trouble} if trouble else parse_index(names, files))
    found["cut_short"] = cut_short(folder, files)
    found.update(read_stripes(folder, files))
    return found


def read_stripes(folder: str, files: Mapping[str, int]) -> Dict[str, Any]:
    """`type` of the file system and, on Lustre, `stripes`: over how many storage targets each large file lies. Empty if
    `lfs` cannot say it."""
    mounts = parse_mounts(text("/proc/self/mountinfo", 8 << 20))
    kind = mount_of(os.path.realpath(folder), mounts).get("type")
    found: Dict[str, Any] = {"type": kind}
    if kind == "lustre":
        large = sorted((n for n in files if n.endswith(WEIGHTS)), key=lambda n: -files[n])[:MOST_STRIPED]
        counts = {name: stripes(os.path.join(folder, name)) for name in large}
        found["stripes"] = {name: count for name, count in counts.items() if count is not None}
    return found


def stripes(path: str) -> Optional[int]:
    """`lfs getstripe --stripe-count` prints the number alone, for a composite layout that of its last component."""
    try:
        answer = run(["lfs", "getstripe", "--stripe-count", path], 2.0)
    except Unreadable:
        return None
    word = answer.out.strip()
    return int(word) if answer.code == 0 and word.isdigit() and len(word) < 6 else None


def read_config(path: str) -> Tuple[Optional[Dict[str, Any]], Optional[str]]:
    config, trouble = read_json(path, MOST_CONFIG_BYTES)
    return (config, None) if isinstance(config, dict) else (None, trouble or "it is not a JSON object")


def read_json(path: str, most_bytes: int) -> Tuple[Any, Optional[str]]:
    """A file's JSON value, or None and the reason."""
    try:
        return json.loads(text(path, most_bytes)), None
    except (OSError, ValueError, RecursionError, Unreadable) as error:
        return None, why(error)


def parse_index(index: Any, files: Mapping[str, int]) -> Dict[str, Any]:
    """`shards` that the index names, `missing` of them, and the bytes of all tensors by the index."""
    weights = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(weights, dict):
        return {"index_trouble": "it has no weight_map"}
    shards = sorted({str(name) for name in weights.values()})
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return {
        "shards": len(shards),
        "tensors": len(weights),
        "missing": [name for name in shards if name not in files],
        "tensor_bytes": total if isinstance(total, int) else None,
    }


def cut_short(folder: str, files: Mapping[str, int]) -> List[str]:
    """Safetensors files that are shorter than their own header says: a download that broke off.

    The format: 8 bytes little-endian length of a JSON header, the header, then the tensors' bytes up to the
    largest of all `data_offsets`.
    """
    short = []
    for name, size in files.items():
        if name.endswith(".safetensors"):
            wanted = safetensors_bytes(os.path.join(folder, name))
            if wanted is None or size < wanted:
                short.append(name)
    return short


def safetensors_bytes(path: str) -> Optional[int]:
    """The size that a safetensors file must have by its header; None if it has no whole header."""
    with open(path, "rb") as file:
        head = file.read(8)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > 100 << 20:
            return None
        try:
            header = json.loads(file.read(length).decode("utf-8"))
        except (ValueError, RecursionError):
            return None
    ends = [0]
    for tensor in header.values() if isinstance(header, dict) else ():
        offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
        if isinstance(offsets, list) and len(offsets) == 2 and isinstance(offsets[1], int):
            ends.append(offsets[1])
    return 8 + length + max(ends)


# ---- the dataset ----


def read_dataset(folder: str, names: List[str]) -> Dict[str, Any]:
    """What LLaMA-Factory's `dataset_info.json` says of the wanted names, and whether their files are there."""
    folder = os.path.expanduser(folder)
    path = os.path.join(folder, "dataset_info.json")
    # A relative folder begins at the run's working folder, which is made again for each run.
    if not os.path.isabs(folder) or not os.path.exists(path):
        return {"dir": folder, "info": False}
    info, trouble = read_json(path, 16 << 20)
    found: Dict[str, Any] = {"trouble": trouble} if trouble else parse_dataset_info(info, names)
    for entry in found.get("entries", {}).values():
        if entry["file"] is not None:
            place = os.path.join(folder, entry["file"])
            entry["exists"] = os.path.exists(place)
            entry["bytes"] = os.path.getsize(place) if os.path.isfile(place) else None
    return {"dir": folder, "info": True, **found}


def parse_dataset_info(info: Any, names: List[str]) -> Dict[str, Any]:
    """`entries` by name (its `file`, None if it comes from a Hub), `unknown` names and the `known` ones."""
    if not isinstance(info, dict):
        return {"trouble": "it is not a JSON object"}
    entries = {}
    for name in names:
        entry = info.get(name)
        if isinstance(entry, dict):
            file = entry.get("file_name")
            entries[name] = {"file": str(file) if file is not None else None}
    unknown = [name for name in names if name not in entries]
    return {"entries": entries, "unknown": unknown, "known": sorted(map(str, info))[:200]}
