"""torch's flight recorder, read at a stall: in which collective this rank is, and at which number.

torch keeps the last collectives of every process group (on by default since 2.7, else with
TORCH_NCCL_TRACE_BUFFER_SIZE). It gives them as JSON. A torch that is too old for that gives a pickle, of which
`recorder_pickle` reads only numbers, texts and containers.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any, Dict, List, Optional

from allranks.core.rank_events import Flight
from allranks.worker import guard, recorder_pickle
from allranks.worker.rank_reporter import Rank

GROUPS = 16
"""The most process groups that are reported: pipelines and tensor parallelism make several, but never thousands."""

SIZES = 4
READERS = ("_dump_nccl_trace_json", "_dump_fr_trace_json")
"""NCCL's recorder, then the one of the other backends (gloo)."""

PICKLED = "_dump_nccl_trace"
"""NCCL's recorder in torch 2.2 to 2.4, asked without stacks (its second argument since 2.3)."""


def report(rank: Rank, wait_seconds: float = 0.0) -> None:
    """Reads it in its own thread and tells the newest collective as `flight`.

    NCCL's recorder asks CUDA for the state of its events; if it ever waits, the beats continue. `wait_seconds` is for
    a rank that ends: as long at most it waits for its own answer.
    """
    if rank.is_in("compiling"):
        return  # a CUDA graph may be recorded: a query of an event's state would spoil it
    if any(thread.name == "allranks-flight" for thread in threading.enumerate()):
        return  # the last question still waits for its answer
    reading = threading.Thread(target=guard.guarded(_tell), args=(rank,), name="allranks-flight", daemon=True)
    reading.start()
    if wait_seconds:
        reading.join(wait_seconds)


def _tell(rank: Rank) -> None:
    data = newest(entries())
    if data is not None:
        rank.emit(Flight(**data))


def entries() -> List[Dict[str, Any]]:
    """The recorders' entries, oldest first; empty if torch is not loaded or has no recorder."""
    module = guard.loaded("torch._C._distributed_c10d")
    for name in READERS:
        read = getattr(module, name, None)
        found = json.loads(read(True, False)) if read is not None else {}
        kept = _entries(found)
        if kept:
            return kept
    has_json = any(hasattr(module, name) for name in READERS)
    return (
        [] if has_json or not hasattr(module, PICKLED) else _entries(recorder_pickle.load(_pickled(module)))
    )


def _pickled(module: Any) -> bytes:
    try:
        return getattr(module, PICKLED)(True, False)
    except TypeError:  # torch 2.2's takes no argument
        return getattr(module, PICKLED)()


def _entries(found: Any) -> List[Dict[str, Any]]:
    """The recorder's entries; `group` is added to each: the group's name, with its first rank. Several groups may share
    a name, since torch counts the groups that a rank is in."""
    whole = found if isinstance(found, dict) else {}
    listed, config = whole.get("entries") if whole else found, whole.get("pg_config")
    kept = [one for one in listed or () if isinstance(one, dict)] if isinstance(listed, (list, tuple)) else []
    for one in kept:
        name = _name(one)
        told = config.get(name) if isinstance(config, dict) else None
        first = re.search(r"\d+", str(told.get("ranks"))) if isinstance(told, dict) else None
        one["group"] = name + ("@" + first.group() if first else "")
    return kept


def _name(entry: Dict[str, Any]) -> str:
    group = entry.get("process_group")
    return str(group[0] if isinstance(group, (list, tuple)) and group else entry.get("pg_id"))


def newest(kept: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """The newest collective of each group, and of all of them; None of nothing. Sends between two ranks are
    left out, since in a pipeline they differ from rank to rank; `p2p` says that there were some."""
    groups: Dict[str, List[Dict[str, Any]]] = {}
    followed = set()
    for entry in kept:
        if not entry.get("is_p2p"):
            one = _collective(entry)
            group = groups[one["group"]] = groups.pop(one["group"], [])
            group.append(one)
            if entry.get("state") in ("started", "completed"):
                followed.add(one["group"])
    told = [{**g[-1], **(_unfinished(g) if name in followed else {})} for name, g in groups.items()]
    if not told:
        return None
    return {**told[-1], "groups": told[-GROUPS:], "p2p": any(entry.get("is_p2p") for entry in kept)}


def _unfinished(group: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Of a group whose recorder follows states (NCCL's does, gloo's calls all of them scheduled): the number that was
    completed last, and the oldest collective that is not. A host runs ahead of its GPU, so that the newest one says
    little."""
    done = [one["sequence"] for one in group if one["state"] == "completed"]
    pending = next((one for one in group if one["state"] != "completed"), None)
    kept = {key: pending[key] for key in ("sequence", "operation", "sizes", "state")} if pending else None
    return {"completed": done[-1] if done else None, "pending": kept}


def _collective(entry: Dict[str, Any]) -> Dict[str, Any]:
    done = entry.get("retired") or entry.get("state") == "completed"
    timeout = entry.get("timeout_ms")
    return {
        "group": str(entry.get("group") or _name(entry)),
        "sequence": entry.get("collective_seq_id"),
        "operation": str(entry.get("profiling_name")),
        "sizes": (entry.get("input_sizes") or [])[:SIZES],
        "state": "completed" if done else str(entry.get("state")),
        "timeout_seconds": timeout / 1000 if isinstance(timeout, (int, float)) else None,
    }
