"""A model of the Hugging Face Hub: whether this node has it in the cache that the ranks will look into.

Ranks inherit little of a node's environment (`spawn.INHERITED`): an HF_HOME of the node's own start files is not
theirs. A model that lies only there is told as `elsewhere`. The request's `hub` is `{"id", "revision", "cache"}`;
`cache` is a folder that the run names, or None.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping

from allranks.node import hub
from allranks.node.facts import _apart
from allranks.node.facts._reading import Reading
from allranks.node.facts.storage import MODEL_SECONDS, read_config, read_model
from allranks.node.spawn import INHERITED

ASKED, NOTHING = "hub", {"model": None}
SECONDS = MODEL_SECONDS + 2


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("model", lambda: _apart.call(lambda: model_of(request), MODEL_SECONDS))


def model_of(request: Mapping[str, Any]) -> Dict[str, Any]:
    """What `storage.read_model` says of the model's snapshot: its `files`, `config`, what is `missing`.

    Without a snapshot of the revision, `exists` is False; a `config` is then that of the newest snapshot, or of the
    node's own cache.
    """
    asked = request["hub"]
    name, revision = str(asked["id"]), str(asked.get("revision") or "main")
    ranks = variables(request)
    folder = hub.expanded(str(asked["cache"]), ranks) if asked.get("cache") else hub.cache(ranks)
    found: Dict[str, Any] = {
        "id": name,
        "revision": revision,
        "cache": folder,
        "exists": False,
        "config": None,
    }
    place = hub.snapshot(folder, name, revision)
    if place is not None:
        return {**found, **read_model(place), "commit": os.path.basename(place)}
    other = None if asked.get("cache") else hub.cache({**os.environ, **of_plan(request)})
    elsewhere = hub.snapshot(other, name, revision) if other not in (None, folder) else None
    if elsewhere is not None:
        found["elsewhere"] = other
    nearest = elsewhere or hub.newest(folder, name)
    if nearest is not None:
        found["config"], _ = read_config(os.path.join(nearest, "config.json"))
    return found


def variables(request: Mapping[str, Any]) -> Dict[str, str]:
    """What the ranks will have, as far as it says where a model is: what they inherit, then the plan's."""
    return {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **of_plan(request)}


def of_plan(request: Mapping[str, Any]) -> Dict[str, str]:
    planned = request.get("env")
    return {str(n): str(v) for n, v in planned.items()} if isinstance(planned, Mapping) else {}
