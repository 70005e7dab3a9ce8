"""An environment's libraries, asked about one configuration after another; what they said is kept.

Two processes for each environment live as long as the measurement, since an import of the libraries takes ten seconds
and an answer a tenth: `_config_reader.py`, and the trial that allranks runs on a node. Answers are kept in
`build/configs`, so that a measurement that was cut off goes on from there. An answer counts as long as the question,
the program that asks it and the versions stay the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any

from allranks.node.facts.imports import TRIAL

HERE = Path(__file__).resolve().parent
READER = (HERE / "_config_reader.py").read_text()
ASK_TRIAL = f"""
import json, sys
{TRIAL}
import llamafactory.train.tuner
doubts = {{}}
for line in sys.stdin:
    print("SAID " + json.dumps(answers([json.loads(line)], 120.0, doubts)[0]), flush=True)
"""
PACKAGES = ["torch", "llamafactory", "transformers", "deepspeed", "peft", "accelerate"]
VERSIONS = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {PACKAGES}}}))"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


class NotAsked(Exception):
    """No answer is kept, and only kept ones are wanted."""


class Libraries:
    """The libraries of one Python. Packages in the folder `optional` are at hand, too. Ends its processes when it is
    closed."""

    def __init__(self, python: str, folder: Path, optional: str = "", only_kept: bool = False) -> None:
        self.python, self.optional, self.only_kept = python, optional, only_kept
        self.versions: dict[str, str] = json.loads(
            subprocess.run(
                [python, "-c", VERSIONS], capture_output=True, text=True, timeout=60, check=True
            ).stdout
        )
        folder.mkdir(parents=True, exist_ok=True)
        self.place = folder / f"{digest([self.versions, optional])[:16]}.jsonl"
        self.kept = {}
        if self.place.exists():
            rows = self.place.read_text().splitlines()
            self.kept = {row["about"]: row["said"] for row in map(json.loads, rows)}
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Libraries:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            assert process.stdin
            process.stdin.close()
            process.wait(60)

    def read(self, question: dict[str, Any], content: list[str]) -> str | None:
        """What ends a rank that reads these files; None if nothing does. `content` is what the files hold."""
        return self._asked(READER, question, [question["ranks"], content])

    def trial(self, question: dict[str, Any]) -> dict[str, Any]:
        """What allranks would hear on a node (`node/configuration_trial.py`)."""
        named = {key: value for key, value in question.items() if key not in ("path", "digest")}
        return self._asked(ASK_TRIAL, question, question if question["kind"] == "llamafactory" else named)

    def _asked(self, program: str, question: dict[str, Any], key: Any) -> Any:
        about = digest([program, key])
        if about not in self.kept:
            if self.only_kept:
                raise NotAsked
            if program not in self.processes:
                self.processes[program] = self._started(program)
            said = answer(self.processes[program], question)
            with self.place.open("a") as file:
                file.write(json.dumps({"about": about, "said": said}) + "\n")
            self.kept[about] = said
        return self.kept[about]

    def _started(self, program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.python, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **OFFLINE, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": self.optional},
        )


def answer(process: subprocess.Popen[str], question: dict[str, Any]) -> Any:
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    return said(process.stdout)


def said(lines: IO[str]) -> Any:
    """Of the next answer; what the libraries print by themselves stands between them."""
    for line in lines:
        if line.startswith("SAID "):
            return json.loads(line[5:])
    raise RuntimeError("the libraries' Python ended")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
