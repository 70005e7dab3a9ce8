"""A model as transformers and diffusers write it: config.json, and weights in one file or in shards with an index."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping

from allranks.checkpoints import manifest as manifests
from allranks.checkpoints.kind import Candidate, Kind, Seen
from allranks.checkpoints.kinds import safetensors_file, torch_file
from allranks.checkpoints.trainer_files import unfinished
from allranks.checkpoints.weights import Damaged
from allranks.core.text import printable

CONFIG = "config.json"
INDEX = re.compile(r"[\w.-]+\.(safetensors|bin)\.index(\.[\w-]+)?\.json")
WEIGHTS = re.compile(r"(model|pytorch_model|diffusion_pytorch_model)(\.[\w-]+)?\.(safetensors|bin)")
SHARD = re.compile(r"([\w.-]+)-(\d{5})-of-(\d{5})\.(safetensors|bin)")
"""transformers' and diffusers' names, with a variant such as `fp16` between."""

MAX_CONFIG_BYTES = 16 << 20


def holds(place: Candidate) -> bool:
    if place.file is not None:
        return False
    weights = any(INDEX.fullmatch(n) or WEIGHTS.fullmatch(n) or SHARD.fullmatch(n) for n in place.names)
    return weights and (CONFIG in place.names or any(INDEX.fullmatch(n) for n in place.names))


def judge(place: Candidate) -> Seen:
    seen = Seen()
    state, findings = manifests.trainer_state(place.folder)
    seen.findings += findings
    seen.step, findings = manifests.judge_steps(place.folder, None, state, place.expect.get("step"))
    seen.findings += findings + unfinished(place.folder, state is not None)
    _config(place, seen)
    indexes = [name for name in place.names if INDEX.fullmatch(name)]
    shards = _indexed(place, indexes, seen)
    alone = [n for n in place.names if WEIGHTS.fullmatch(n) and n not in shards]
    _numbered(place, shards, seen)
    for name in alone:
        _inspect(place, name, {}, seen)
    files = len(shards) + len(alone)
    text = "%d file%s of weights" % (files, "" if files == 1 else "s")
    seen.text = text + (", {:,} tensors".format(seen.tensors) if seen.tensors else "")
    return seen


def _config(place: Candidate, seen: Seen) -> None:
    if CONFIG not in place.names:
        return
    try:
        place.folder.read_json(CONFIG, MAX_CONFIG_BYTES)
    except Damaged as error:
        seen.says(error.id, place.path(CONFIG), error.saw)
    except ValueError as error:
        seen.says("checkpoint-file-broken", place.path(CONFIG), printable(error), "a JSON object")
    except OSError as error:
        seen.says("checkpoint-unreadable", place.path(CONFIG), "%s" % (error.strerror or error))


def _indexed(place: Candidate, indexes: List[str], seen: Seen) -> Dict[str, List[str]]:
    """The files of all indexes, each with the tensors that it must hold."""
    shards: Dict[str, List[str]] = {}
    for index in indexes:
        try:
            table = place.folder.read_json(index).get("weight_map")
            shards.update(_by_file(table))
        except Damaged as error:
            seen.says(error.id, place.path(index), error.saw)
        except ValueError as error:
            seen.says("checkpoint-index-broken", place.path(index), printable(error))
        except OSError as error:
            seen.says("checkpoint-unreadable", place.path(index), "%s" % (error.strerror or error))
    for name, tensors in sorted(shards.items()):
        if name in place.names:
            _inspect(place, name, dict.fromkeys(tensors), seen)
    missing = sorted(name for name in shards if name not in place.names)
    if missing:
        saw = "%d of the %d files of weights that the index names are not there" % (len(missing), len(shards))
        shown = tuple(map(printable, missing))
        seen.says("checkpoint-shard-missing", place.path(missing[0]), saw, "every file of the index", shown)
    return shards


def _by_file(table: Any) -> Dict[str, List[str]]:
    if not isinstance(table, dict) or not table:
        raise ValueError("it has no weight_map")
    shards: Dict[str, List[str]] = {}
    for tensor, name in table.items():
        if not isinstance(name, str) or "/" in name or name in ("", ".", "..") or "\0" in name:
            raise ValueError("it names %s as a file" % printable(name, 80))
        shards.setdefault(name, []).append(str(tensor))
    return shards


def _numbered(place: Candidate, shards: Mapping[str, Any], seen: Seen) -> None:
    """Shards without an index: their names say how many there are."""
    groups: Dict[Any, List[int]] = {}
    for name in place.names:
        match = SHARD.fullmatch(name)
        if match and name not in shards:
            groups.setdefault((match[1], int(match[3]), match[4]), []).append(int(match[2]))
            _inspect(place, name, {}, seen)
    for (stem, count, ending), have in groups.items():
        missing = [n for n in range(1, min(count, 10_000) + 1) if n not in have]
        if missing:
            first = "%s-%05d-of-%05d.%s" % (stem, missing[0], count, ending)
            saw = "%d of the %d shards are not there" % (len(missing), count)
            seen.says("checkpoint-shard-missing", place.path(first), saw)
        elif not any(INDEX.fullmatch(name) for name in place.names):
            saw = "%d shards and no index of them" % count
            seen.says("checkpoint-unfinished", place.folder.path, saw, "the index, which is written last")


def _inspect(place: Candidate, name: str, wanted: Dict[str, None], seen: Seen) -> None:
    if not name.endswith(".safetensors"):
        torch_file.inspect(place, name, seen)
        return
    have = safetensors_file.inspect(place, name, seen)
    lacking = [tensor for tensor in wanted if have is not None and tensor not in have]
    if lacking:
        saw = "it lacks %d of the %d tensors that the index places in it" % (len(lacking), len(wanted))
        seen.says("checkpoint-index-differs", place.path(name), saw, "", tuple(map(printable, lacking)))


KIND = Kind("Hugging Face model", 10, holds, judge)
