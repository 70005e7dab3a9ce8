"""The scripts: where each one is to be had, and what it needs. Their code is not part of this project."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "scripts.tsv"
PACKAGE = "package:"


@dataclass(frozen=True)
class Script:
    """A line of `corpora/scripts.tsv`.

    `repository` is `owner/name`, looked for in SCRIPTS as `owner+name`, or `package:NAME`, looked for in the training
    environment. `{model}`, `{mnist}` and the like in `laid`, `environment` and `arguments` are inputs of `inputs.py`;
    `{out}` is a folder of the trial. `laid` says which inputs lie in the repository's folder: `data={mnist}`, or
    which other parts of it the script reads: `configs={repository}/configs`.
    """

    name: str
    framework: str
    repository: str
    commit: str
    path: str
    packages: str
    laid: str
    environment: str
    arguments: str

    @property
    def package(self) -> str:
        return self.repository[len(PACKAGE) :] if self.repository.startswith(PACKAGE) else ""

    def needs(self) -> list[str]:
        """The packages that it imports, by the names of their modules."""
        return [*([self.path.split("/")[0]] if self.package else []), *self.packages.split()]

    def links(self, places: dict[str, str]) -> dict[str, str]:
        return pairs(filled(self.laid, places))

    def variables(self, places: dict[str, str]) -> dict[str, str]:
        return pairs(filled(self.environment, places))

    def words(self, places: dict[str, str]) -> list[str]:
        return shlex.split(filled(self.arguments, places))


def filled(text: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        text = text.replace("{" + name + "}", value)
    return text


def pairs(text: str) -> dict[str, str]:
    words = (word.partition("=") for word in shlex.split(text))
    return {name: value for name, _, value in words}


def scripts(path: Path = CORPUS) -> list[Script]:
    with path.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Script(**row) for row in rows]


class Places:
    """Where the scripts are on this machine: in the folder SCRIPTS, and in the packages of `python`."""

    def __init__(self, python: str, folder: str | None):
        self.python, self.folder = python, Path(folder) if folder else None
        self.found: dict[str, str] = {}

    def missing(self, script: Script) -> str:
        """What this machine lacks for it; empty if nothing."""
        lacks = [name for name in script.needs() if not self.package(name)]
        if lacks:
            return "no package " + ", ".join(lacks)
        path = self.path(script)
        return "" if path is not None and path.is_file() else "not in the folder of SCRIPTS"

    def path(self, script: Script) -> Path | None:
        if script.package:
            return Path(self.package(script.needs()[0])).parent / script.path
        return self.folder / script.repository.replace("/", "+") / script.path if self.folder else None

    def package(self, name: str) -> str:
        """The folder of an installed package, empty if it is not there."""
        if name not in self.found:
            look = (
                "import importlib.util as u, json, sys; s = u.find_spec(sys.argv[1]);"
                "print(json.dumps('' if s is None else (list(s.submodule_search_locations or [s.origin]))[0]))"
            )
            done = subprocess.run([self.python, "-c", look, name], capture_output=True, text=True, timeout=60)
            self.found[name] = json.loads(done.stdout) if done.returncode == 0 else ""
        return self.found[name]


def chosen() -> list[Script]:
    """Those that ONLY names, else all."""
    only = [name for name in os.environ.get("ONLY", "").split(",") if name]
    return [script for script in scripts() if not only or script.name in only]
