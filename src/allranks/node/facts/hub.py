"""Whether this node has a model of the Hugging Face Hub in the cache that the ranks will use.

Ranks inherit little of a node's environment (`spawn.INHERITED`): an HF_HOME of the node's own start files is not
theirs. A model that is only there is reported as `elsewhere`. The request's `hub` is `{"id", "revision", "cache"}`;
`cache` is a folder that the run names, or None.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping

from allranks.node import hub_cache
from allranks.node.facts import _reader_processes
from allranks.node.facts._reading import Reading
from allranks.node.facts.storage import MODEL_SECONDS, read_config, read_model
from allranks.node.spawn import INHERITED

ASKED, NOTHING = "hub", {"model": None}
REACH_SECONDS = 10.0
"""After so long huggingface_hub gives up a question, too (`HF_HUB_ETAG_TIMEOUT`)."""

SECONDS = MODEL_SECONDS + REACH_SECONDS + 3

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
WEIGHTS = (".safetensors", ".bin", ".gguf")


def read(request: Mapping[str, Any], reading: Reading) -> None:
    found = reading.fact("model", lambda: _reader_processes.call(lambda: model_of(request), MODEL_SECONDS))
    is_whole = isinstance(found, dict) and not found["lacks"]
    if is_whole or hub_cache.offline(variables(request)) or hub_cache.offline(os.environ):
        reading.put("reach", None)
    else:
        reading.fact("reach", lambda: _reader_processes.call(lambda: reach(request), REACH_SECONDS + 1))


def model_of(request: Mapping[str, Any]) -> Dict[str, Any]:
    """What `storage.read_model` says of the model's snapshot: its `files`, `config`, what is `missing`.

    Without a snapshot of the revision, `exists` is False; a `config` is then that of the newest snapshot, or of the
    node's own cache.
    """
    asked = request["hub"]
    name, revision = str(asked["id"]), str(asked.get("revision") or "main")
    ranks = variables(request)
    folder = hub_cache.folder_of(asked, ranks)
    found: Dict[str, Any] = {"id": name, "revision": revision, "cache": folder}
    found.update(
        exists=False, config=None, lacks=["the model"], has_token=os.path.isfile(hub_cache.token_file(ranks))
    )
    place = hub_cache.snapshot(folder, name, revision)
    if place is not None:
        found.update(read_model(place), commit=os.path.basename(place))
        return {**found, "lacks": lacks(found)}
    other = None if asked.get("cache") else hub_cache.cache({**os.environ, **of_plan(request)})
    elsewhere = hub_cache.snapshot(other, name, revision) if other not in (None, folder) else None
    if elsewhere is not None:
        found["elsewhere"] = other
    nearest = elsewhere or hub_cache.newest(folder, name)
    if nearest is not None:
        found["config"], _ = read_config(os.path.join(nearest, "config.json"))
    return found


def lacks(found: Mapping[str, Any]) -> List[str]:
    """What of the snapshot the client would have to fetch before it could load the model."""
    files = found["files"]
    missing = [str(name) for name in [*found.get("missing", ()), *found["cut_short"]]]
    if found["config"] is None:
        missing.append("config.json")
    if not any(name.endswith(WEIGHTS) for name in files):
        missing.append("weights")
    if not any(name in TOKENIZERS or name.endswith(".tiktoken") for name in files):
        missing.append("a tokenizer")
    return missing


def reach(request: Mapping[str, Any]) -> Dict[str, Any]:
    """The Hub's answer to this node, with the ranks' variables (proxies, certificates, HF_ENDPOINT) and without a
    token. This changes the process's variables, so it runs in its own process."""
    from allranks.node import hub_request  # brings ssl along, and most nodes have nothing to ask

    ranks = variables(request)
    os.environ.clear()
    os.environ.update(ranks)
    base, asked = hub_request.endpoint(ranks), request["hub"]
    answer = hub_request.fetch(
        base, str(asked["id"]), str(asked.get("revision") or "main"), REACH_SECONDS, plain=True
    )
    return {
        "host": hub_request.host_of(base),
        "status": answer.status,
        "trouble": answer.trouble,
        "certificate": answer.certificate,
    }


def variables(request: Mapping[str, Any]) -> Dict[str, str]:
    """The ranks' variables that decide where a model is: inherited ones, then the plan's."""
    return {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **of_plan(request)}


def of_plan(request: Mapping[str, Any]) -> Dict[str, str]:
    planned = request.get("env")
    return {str(n): str(v) for n, v in planned.items()} if isinstance(planned, Mapping) else {}
