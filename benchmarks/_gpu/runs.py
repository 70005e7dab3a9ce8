"""Runs of the product that stages start: through its command line, in a home of their own, cleaned in any case."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._gpu.parts import TAIL, environment
from tests.harness import free_port

OVER = ("succeeded", "failed", "stopped", "lost")


@dataclass
class Product:
    """The command line with one home."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def words(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "allranks.cli", *map(str, words)]

    def environment(self) -> dict[str, str]:
        return environment({"ALLRANKS_HOME": str(self.home), **self.variables})

    def call(self, *words: object, seconds: float = 300.0) -> tuple[int, dict[str, Any]]:
        """(exit code, the JSON that it printed). Raises RuntimeError where it printed none."""
        done = subprocess.run(
            self.words(*words, "--json"),
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
        )
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"code {done.returncode}: {(done.stdout + done.stderr)[-TAIL:]}") from None

    def start(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(*words, "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
        )

    def states(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.home.glob("runs/*/keeper/state.json")]

    def journal(self) -> list[dict[str, Any]]:
        """The keeper's events of the home's only run."""
        found = []
        for path in self.home.glob("runs/*/keeper/journal.jsonl"):
            lines = path.read_text(errors="replace").splitlines()
            found += [json.loads(line) for line in lines if line.endswith("}")]
        return found

    def file(self, name: str, data: Mapping[str, Any]) -> Path:
        path = self.folder / name
        path.write_text(json.dumps({"network": {"port": free_port()}, **data}, indent=1))
        return path

    def clean(self) -> None:
        for state in self.states():
            if state["state"] not in OVER:
                with contextlib.suppress(subprocess.SubprocessError, OSError):
                    words = self.words("stop", state["id"], "-y")
                    subprocess.run(words, env=self.environment(), capture_output=True, timeout=60)


@contextlib.contextmanager
def product(**variables: str) -> Iterator[Product]:
    with tempfile.TemporaryDirectory(prefix="gpu-run-", ignore_cleanup_errors=True) as folder:
        one = Product(Path(folder), dict(variables))
        try:
            yield one
        finally:
            one.clean()
