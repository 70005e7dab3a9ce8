"""Builds the sdist and the wheel with a README whose links and picture work where a package index shows it.

    make package BASE=https://github.com/ORGANIZATION/allranks

An index shows the README alone: a link such as `docs/runs.md` leads nowhere there. BASE is where the repository's files
can be read; it also becomes the project's links. Nothing in the working tree changes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
PAGES = {
    "Source": "",
    "Documentation": "/tree/main/docs",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
}


def absolute(text: str, base: str) -> str:
    """Markdown with each relative link below BASE: pictures as raw files, folders as trees, others as pages."""

    def link(match: re.Match[str]) -> str:
        target = match[3]
        kind = "raw" if match[1] else "tree" if target.endswith("/") else "blob"
        return f"{match[1]}[{match[2]}]({base}/{kind}/main/{target.rstrip('/')})"

    return LINK.sub(link, text)


def with_links(pyproject: str, base: str) -> str:
    rows = "".join(f'{name} = "{base}{path}"\n' for name, path in PAGES.items())
    return pyproject.replace("[project.scripts]\n", f"[project.urls]\n{rows}\n[project.scripts]\n", 1)


def build(base: str, out: Path) -> list[Path]:
    """The files that were built."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "allranks")
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        for name, change in (("README.md", absolute), ("pyproject.toml", with_links)):
            (tree / name).write_text(change((tree / name).read_text("utf-8"), base), encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        made = Path(folder, "made")
        for kind in ("sdist", "wheel"):
            call = f"import setuptools.build_meta as b, sys; b.build_{kind}(sys.argv[1])"
            words = [sys.executable, "-c", call, str(made / kind)]
            (made / kind).mkdir(parents=True)
            subprocess.run(words, cwd=tree, check=True, stdout=subprocess.DEVNULL)
        return [Path(shutil.copy2(path, out)) for path in sorted(made.glob("*/*"))]


def main() -> int:
    base = sys.argv[1].rstrip("/") if len(sys.argv) == 2 else ""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", base):
        print("make package BASE=https://HOST/ORGANIZATION/REPOSITORY", file=sys.stderr)
        return 2
    for path in build(base, ROOT / "dist"):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
