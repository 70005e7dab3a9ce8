"""The controller's side of a rig test: calls allranks in the rig's `ctl`, with a home and ssh settings of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.rig.rig import ROOT, STATE, Rig


class Desk:
    """One person's machine: `desk("run", file, "--json")`."""

    def __init__(self, rig: Rig, folder: Path, environment: Mapping[str, str] | None = None):
        self.rig, self.folder, self.environment = rig, folder, dict(environment or {})
        ssh = folder / ".ssh"
        ssh.mkdir(mode=0o700, parents=True)
        (ssh / "config").write_text((STATE / "ssh_config").read_text())
        (ssh / "known_hosts").write_text((STATE / "known_hosts").read_text())

    def command(self, *words: object) -> list[str]:
        own = {"HOME": str(self.folder), "ALLRANKS_HOME": str(self.folder / "allranks")}
        merged = {"PYTHONPATH": str(ROOT / "src"), **own, **self.environment}
        settings = [f"{name}={value}" for name, value in merged.items()]
        return self.rig.from_ctl(["env", *settings, sys.executable, "-m", "allranks.cli", *map(str, words)])

    def __call__(self, *words: object, seconds: float = 400.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=seconds)

    def json(self, *words: object) -> Any:
        """What a verb prints with --json, whatever its exit code."""
        done = self(*words, "--json")
        assert done.stdout.startswith(("{", "[")), (done.stdout[-2000:], done.stderr[-3000:])
        return json.loads(done.stdout)

    def file(self, **keys: Any) -> Path:
        """A run file (JSON is YAML)."""
        path = self.folder / "run.yaml"
        path.write_text(json.dumps(keys))
        return path
