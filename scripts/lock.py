"""Writes requirements/locked/*.txt: what requirements/*.txt name, each with the SHA-256 of its files on PyPI.

    make lock       after a change of requirements/*.txt; needs pypi.org

uv asks the index, and of its answer the files stay that our environments can take: wheels of Linux on x86_64 and arm64
for Python 3.11 to 3.13, and sources. torch is not among them: its CPU and its CUDA builds come from indexes of their
own (`requirements/torch.txt`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import tomllib

ROOT = Path(__file__).resolve().parent.parent
LISTS = {
    "main": ("train", "dev", "llamafactory"),
    "legacy": ("legacy",),
    "ray": ("ray",),
    "wandb": ("wandb",),
    "bench": ("bench",),
    "audit": ("audit",),
    "docs": ("docs",),
}
"""What is installed together, and the lists that say so."""

INDEX = "https://pypi.org/simple"
WHEEL = re.compile(r"-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl$")
HEAD = "# Made by `make lock` of {}; not to be edited. Installed with --require-hashes --no-deps.\n"


def wanted(name: str) -> dict[str, str]:
    """The versions that a set of lists names, by the package's normal name."""
    found = {}
    for part in LISTS[name]:
        for line in (ROOT / "requirements" / f"{part}.txt").read_text(encoding="utf-8").splitlines():
            words = line.partition("#")[0].strip()
            if words:
                package, _, version = words.partition("==")
                found[normal(package)] = version
    return found


def normal(package: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", package).lower()


def fits(file: str) -> bool:
    """Whether one of our environments can install the file."""
    match = WHEEL.search(file)
    if match is None:
        return file.endswith((".tar.gz", ".zip"))
    pythons = match["python"].split(".")
    is_python = any(re.fullmatch(r"py3|(cp|py)31[123]", p) for p in pythons) or (
        match["abi"] == "abi3" and any(re.fullmatch(r"cp3(\d|1[0-3])", p) for p in pythons)
    )
    platform = match["platform"]
    is_linux = "linux" in platform and "musl" not in platform and platform.endswith(("x86_64", "aarch64"))
    return is_python and not match["abi"].endswith("t") and (platform == "any" or is_linux)


def resolved(versions: Mapping[str, str], uv: str) -> Iterator[Mapping[str, Any]]:
    """What the index says of these packages (PEP 751)."""
    with tempfile.TemporaryDirectory() as folder:
        listed, answer = Path(folder, "listed.in"), Path(folder, "pylock.toml")
        listed.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
        words = ["pip", "compile", "--default-index", INDEX, "--no-deps", "--universal", "--quiet"]
        words += ["--python-version", "3.11", "--format", "pylock.toml", "-o", str(answer), str(listed)]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
        subprocess.run([uv, *words], check=True, env=env)
        yield from tomllib.loads(answer.read_text())["packages"]


def locked(name: str, uv: str) -> str:
    """The text of one file of requirements/locked."""
    lines = [HEAD.format(", ".join(f"{part}.txt" for part in LISTS[name]))]
    for package in sorted(resolved(wanted(name), uv), key=lambda one: str(one["name"])):
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        hashes = sorted(
            {one["hashes"]["sha256"] for one in files if fits(unquote(one["url"].rpartition("/")[2]))}
        )
        if not hashes:
            raise SystemExit(f"{package['name']} {package['version']}: no file that fits")
        words = [f"{package['name']}=={package['version']}", *(f"--hash=sha256:{one}" for one in hashes)]
        lines.append(" \\\n    ".join(words) + "\n")
    return "".join(lines)


def main() -> int:
    uv = sys.argv[1] if len(sys.argv) > 1 else "uv"
    for name in LISTS:
        path = ROOT / "requirements" / "locked" / f"{name}.txt"
        path.write_text(locked(name, uv), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
