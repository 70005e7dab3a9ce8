"""What is known against the packages of requirements/locked: pip-audit, in an environment of its own.

python scripts/audit.py             says it; code 0, also where the index knows nothing of vulnerabilities
python scripts/audit.py --strict    code 1 if there is one, 3 if nobody could look
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venvs" / "audit"
LISTS = [ROOT / "requirements" / "locked" / "main.txt", ROOT / "requirements" / "torch.txt"]
DAY_SECONDS = 86400.0
ASK_SECONDS = 60.0


def judged(answer: Mapping[str, Any]) -> tuple[int, list[str]]:
    """pip-audit's document as a code and lines: 0 nothing is known, 1 something is, 3 nobody could look."""
    packages: Sequence[Mapping[str, Any]] = answer.get("dependencies") or []
    bad = [(one, found) for one in packages for found in one.get("vulns") or ()]
    unseen = [str(one["name"]) for one in packages if "skip_reason" in one]
    lines = []
    for one, found in bad:
        fixed = ", ".join(found.get("fix_versions") or ()) or "no version"
        lines.append(f"{one['name']} {one.get('version')}: {found['id']}, fixed in {fixed}")
    if not packages or len(unseen) == len(packages):
        return 3, ["could not look: the index of this machine knows nothing of vulnerabilities"]
    if unseen:
        lines.append(f"could not look at {len(unseen)} of {len(packages)}: {', '.join(unseen[:8])}")
    return int(bool(bad)), lines or [f"nothing is known against {len(packages)} packages"]


def pins(texts: Sequence[str]) -> list[str]:
    """`name==version` of each package, without hashes: torch has none, and pip-audit wants all or no hashes."""
    return sorted({match[0] for text in texts for match in re.finditer(r"^[\w.-]+==[\w.!+-]+", text, re.M)})


def asked() -> tuple[int, list[str]]:
    """Asks the index; any failure is nobody's look and no finding."""
    words = [
        str(VENV / "bin" / "python"),
        "-m",
        "pip_audit",
        "--disable-pip",
        "--no-deps",
        "--format",
        "json",
    ]
    words += ["--progress-spinner", "off", "-r", "/dev/stdin"]
    wanted = "\n".join(pins([path.read_text() for path in LISTS])) + "\n"
    try:
        if not (VENV / "bin" / "pip-audit").exists():
            subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True, timeout=ASK_SECONDS)
            install = [str(ROOT / "scripts" / "locked.sh"), str(VENV), "audit"]
            subprocess.run(install, check=True, timeout=ASK_SECONDS, stderr=subprocess.DEVNULL)
        done = subprocess.run(words, input=wanted, capture_output=True, text=True, timeout=ASK_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return 3, [f"could not look: {type(error).__name__}"]
    try:
        return judged(json.loads(done.stdout))
    except ValueError:
        said = done.stderr.strip().splitlines()[-1:] or ["pip-audit printed nothing"]
        return 3, [f"could not look: {said[0][:200]}"]


def main(words: Sequence[str]) -> int:
    """Asks once a day and list."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in LISTS)).hexdigest()[:16]
    kept = ROOT / ".cache" / f"audit-{digest}.json"
    strict = "--strict" in words
    if strict or not kept.exists() or time.time() - kept.stat().st_mtime > DAY_SECONDS:
        code, lines = asked()
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps([code, lines]))
    code, lines = json.loads(kept.read_text())
    for line in lines:
        print(f"audit: {line}", file=sys.stderr)
    return code if strict else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
