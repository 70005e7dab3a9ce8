"""Removes this node's cache of base models, as a run that has ended names it (`prepare: {cache: …}`)."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from allranks.core import cache_folder
from allranks.node.paths import RunDirectory, read_object


def clean(run_id: str, dry_run: bool) -> List[Dict[str, Any]]:
    """`{path, bytes, kept}` of each cache, or `{path, error}` of one that is not safe to touch. Parts that a process
    reads or writes stay, and so does what is not a part."""
    answers = []
    for path in named(run_id):
        try:
            found = cache_folder.removed(path, dry_run)
        except (cache_folder.Unsafe, OSError) as error:
            answers.append({"path": path, "error": str(error)})
            continue
        if found is not None:
            answers.append(found)
    return answers


def named(run_id: str) -> List[str]:
    """The folders that the jobs here were told."""
    found = set()
    for directory in RunDirectory(run_id).node_directories():
        job = read_object(directory.job)
        env = job.get("env") if job else None
        path = env.get(cache_folder.PATH) if isinstance(env, dict) else None
        if isinstance(path, str) and path:
            found.add(os.path.expanduser(path))
    return sorted(found)
