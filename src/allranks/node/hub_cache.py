"""Where the client of the Hugging Face Hub keeps a model, as its variables say: read only, and bounded.

huggingface_hub keeps `models--ORG--NAME/refs/REVISION`, which holds a commit, and `snapshots/COMMIT/`. A revision may
also be a commit itself.
"""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional

from allranks.node.facts._commands import text
from allranks.node.facts._reading import Unreadable

MOST_TOKEN_BYTES = 4096
_NAME = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,127}")


def is_id(name: str) -> bool:
    """Whether `name` may be a model of the Hub: `NAME` or `ORG/NAME`, with no part that a path could mean."""
    parts = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,95})?", name)
    return parts is not None and "--" not in name and ".." not in name


def is_revision(name: str) -> bool:
    """A branch, a tag (`refs/pr/1` is one, too) or a commit; never a way out of the folder."""
    return all(map(_NAME.fullmatch, name.split("/"))) and ".." not in name


def is_set(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").upper() in ("1", "ON", "YES", "TRUE")


def offline(variables: Mapping[str, str]) -> Optional[str]:
    """The variable that forbids to ask the Hub, as `HF_HUB_OFFLINE=1`; None if none does."""
    names = (name for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if is_set(variables, name))
    return next((f"{name}={variables[name]}" for name in names), None)


def home(variables: Mapping[str, str]) -> str:
    """`HF_HOME`, in which caches and the token lie."""
    if variables.get("HF_HOME"):
        return expanded(variables["HF_HOME"], variables)
    above = variables.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.join(expanded(above, variables), "huggingface")


def cache(variables: Mapping[str, str]) -> str:
    """The folder that models are kept in."""
    named = variables.get("HF_HUB_CACHE") or variables.get("HUGGINGFACE_HUB_CACHE")
    return expanded(named, variables) if named else os.path.join(home(variables), "hub")


def folder_of(asked: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """The cache that the run names, or the one of these variables."""
    return expanded(str(asked["cache"]), variables) if asked.get("cache") else cache(variables)


def expanded(path: str, variables: Mapping[str, str]) -> str:
    """`~` is the home folder of these variables."""
    own = variables.get("HOME")
    if own and (path == "~" or path.startswith("~/")):
        return own + path[1:]
    return os.path.expanduser(path)


def snapshot(folder: str, model: str, revision: str) -> Optional[str]:
    """The folder of the model's files at this revision, in the cache `folder`; None if the client would find none."""
    if not is_id(model) or not is_revision(revision):
        return None
    place = _place(folder, model)
    try:
        commit = text(os.path.join(place, "refs", revision), 1024).strip()
    except (OSError, ValueError, Unreadable):
        commit = revision
    return _there(place, commit)


def newest(folder: str, model: str) -> Optional[str]:
    """The snapshot of the model that was made last, whatever revision it is of."""
    if not is_id(model):
        return None
    place = _place(folder, model)
    try:
        with os.scandir(os.path.join(place, "snapshots")) as entries:
            found = [(entry.stat().st_mtime, entry.name) for entry in entries if entry.is_dir()]
    except OSError:
        return None
    return _there(place, max(found)[1]) if found else None


def _place(folder: str, model: str) -> str:
    return os.path.join(folder, "models--" + model.replace("/", "--"))


def _there(place: str, commit: str) -> Optional[str]:
    """The snapshot's folder. The commit comes from a file of the cache, and counts only as a name, never as a
    path."""
    path = os.path.join(place, "snapshots", commit)
    return path if _NAME.fullmatch(commit) and os.path.isdir(path) else None


def token_file(variables: Mapping[str, str]) -> str:
    """The file in which `hf auth login` stores the token."""
    named = variables.get("HF_TOKEN_PATH")
    return expanded(named, variables) if named else os.path.join(home(variables), "token")
