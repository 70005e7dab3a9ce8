"""A conda environment of this node by its name. conda itself is not run, and nothing of it is sourced.

conda writes the folder of every environment that it makes into ~/.conda/environments.txt; besides that its usual places
are looked into, since the file may be another user's or lost.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Iterator, List, Mapping

from allranks.core import BadInput, Problem
from allranks.core.untrusted import text
from allranks.node.files import read_text

LIST_BYTES = 1 << 20

ROOTS = (
    "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "conda", "miniconda", "anaconda",
)  # fmt: skip
"""The names of the folders that the installers of Anaconda, Miniconda, Miniforge and micromamba make, at home or
below /opt."""


def answer(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """`{"python", "prefix"}` of the environment `name`. Raises BadInput if there is none, or more than one."""
    name = text(wanted.get("name")) or ""
    every = prefixes()
    fitting = [prefix for prefix in every if name_of(prefix) == name]
    if len(fitting) == 1:
        return {"python": os.path.join(fitting[0], "bin", "python"), "prefix": fitting[0]}
    if fitting:
        saw = "%d conda environments are named %s: %s" % (len(fitting), name, ", ".join(fitting))
        raise BadInput(Problem(saw=saw, do="environment: {python: %s/bin/python}" % fitting[0]))
    there = ", ".join(sorted(name_of(prefix) for prefix in every)) or "none was found"
    saw = "no conda environment is named %s; there are: %s" % (name, there)
    raise BadInput(Problem(saw=saw, do="environment: {python: /path/of/the/environment/bin/python}"))


def prefixes() -> List[str]:
    """The folders of all environments that have a Python, each once, links resolved."""
    found: Dict[str, None] = {}
    for path in candidates():
        real = os.path.realpath(path)
        python = os.path.join(real, "bin", "python")
        if os.path.isdir(os.path.join(real, "conda-meta")) and os.access(python, os.X_OK):
            found[real] = None
    return list(found)


def candidates() -> Iterator[str]:
    home = os.path.expanduser("~")
    listed = read_text(os.path.join(home, ".conda", "environments.txt"), LIST_BYTES)
    yield from (line for line in listed.splitlines() if os.path.isabs(line))
    folders = [os.path.join(home, ".conda", "envs")]
    for variable in ("CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"):
        folders += [one for one in os.environ.get(variable, "").split(os.pathsep) if os.path.isabs(one)]
    for root in roots(home):
        yield root
        folders.append(os.path.join(root, "envs"))
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        yield from (os.path.join(folder, name) for name in names)


def roots(home: str) -> Iterator[str]:
    """Installations of conda: the one on PATH, the one of the variables, and those at the usual places."""
    program = shutil.which("conda") or shutil.which("mamba")
    for path in (program, os.environ.get("CONDA_EXE")):
        if path:
            yield os.path.dirname(os.path.dirname(os.path.realpath(path)))
    if os.environ.get("MAMBA_ROOT_PREFIX"):
        yield os.environ["MAMBA_ROOT_PREFIX"]
    for place in (home, "/opt"):
        yield from (os.path.join(place, name) for name in ROOTS)


def name_of(prefix: str) -> str:
    """`base` for an installation itself, else the folder's name."""
    return "base" if os.path.isfile(os.path.join(prefix, "bin", "conda")) else os.path.basename(prefix)
