"""Packages that a machine without a network lacks, carried as wheels: made here, entered there.

`python -m benchmarks._gpu.wheels FOLDER [--python 3.12]` fetches the wheels of requirements/gpu.txt and builds what is
published as source only (DeepSpeed, without compiling its ops). There, `GPU_WHEELS=FOLDER` makes an environment of
them that also sees what the machine's own Python has.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from benchmarks._gpu.parts import ROOT

REQUIREMENTS = ROOT / "requirements" / "gpu.txt"
MOST_BYTES = 60 << 20
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (17, 24, 27, 28, 31, 34, 35)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux1_x86_64"]
SOURCES = ("deepspeed",)
"""Published as source alone: built here, pure Python."""


# ---- where there is a network ----


def pins() -> list[str]:
    lines = (line.partition("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line]


def fetch(folder: Path, python: str) -> int:
    """Fetches and builds; returns the bytes. Raises ValueError where they are more than may be carried."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()  # two versions of one package stop the whole install
    built = [pin for pin in pins() if pin.partition("==")[0] in SOURCES]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    words += ["--python-version", python, *(f"--platform={one}" for one in PLATFORMS), "-d", str(folder)]
    subprocess.run([*pip, *words, *(pin for pin in pins() if pin not in built)], check=True)
    # DeepSpeed asks for torch while it is built; the environment that has it is this one.
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    env = {**os.environ, "DS_BUILD_OPS": "0"}
    for pin in built:
        subprocess.run([*pip, *build, pin], check=True, env=env)
    size = sum(path.stat().st_size for path in folder.glob("*.whl"))
    if size > MOST_BYTES:
        raise ValueError(
            f"{folder} holds {size / 2**20:.1f} MiB of wheels, more than {MOST_BYTES / 2**20:.0f}"
        )
    return size


# ---- where there is none ----


def enter(folder: str | None, words: list[str]) -> None:
    """Goes on in the environment of the carried wheels. Returns where there are none, or it is entered already."""
    if not folder or os.environ.get("GPU_WHEELS_ENTERED"):
        return
    wheels = sorted(Path(folder).resolve().glob("*.whl"))
    if not wheels:
        raise SystemExit(f"GPU_WHEELS={folder} holds no wheel. `make gpu-wheels` makes such a folder.")
    python = made(wheels)
    os.environ["GPU_WHEELS_ENTERED"] = "1"
    os.execv(python, [str(python), "-m", "benchmarks", "gpu", *words])


def made(wheels: list[Path], base: Path | None = None) -> Path:
    """The Python of an environment with these wheels, over what this Python has. Made once."""
    told = hashlib.sha256("\n".join([sys.executable, *(w.name for w in wheels)]).encode()).hexdigest()[:12]
    place = (base or Path(tempfile.gettempdir())) / f"gpu-env-{os.getuid()}-{told}"
    python = place / "bin" / "python3"
    if (place / "whole").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(place)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = place / "lib" / version / "site-packages"
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir"]
    install += ["--target", str(packages), "--upgrade", *map(str, wheels)]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    # What this Python has comes after what was carried.
    seen = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    seen += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "zz-machine.pth").write_text("\n".join(dict.fromkeys(seen)) + "\n")
    (place / "whole").write_text("")
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="of the machine that they are for")
    options = parser.parse_args()
    size = fetch(options.folder, options.python)
    count = len(list(options.folder.glob("*.whl")))
    print(f"{options.folder}: {count} wheels for Python {options.python}, {size / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
