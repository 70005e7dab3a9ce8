"""One trial of a script: by hand with torchrun, or with allranks; as it is, or with a fault planted in a rank."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._scripts.corpus import Places, Script
from tests.harness import free_port

KINDS = {"hand": "count", "run": "count", "raise": "raise:1:2", "kill": "kill:2:2"}
"""Of each script: by hand and with allranks as it is, and with allranks an exception and a SIGKILL after step 2."""
NODES = 3
SECONDS = 240.0
SAVED = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".distcp", ".tar", ".pkl")
PLANT = Path(__file__).parent / "plant"
BASIC = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "TORCH_EXTENSIONS_DIR")


@dataclass
class Bench:
    """What all trials share: the training environment, the inputs, a home of allranks, a folder for what is written."""

    places: Places
    inputs: dict[str, str]
    home: Path
    work: Path


def trial(script: Script, kind: str, bench: Bench) -> dict[str, Any]:
    """What came of it: `{script, kind, ok, seconds, …}`; the judgement is left to `results.py`."""
    folder = bench.work / f"{script.name}-{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    source = bench.places.path(script)
    assert source is not None
    filled = {**bench.inputs, "out": str(folder / "out")}
    here, start = laid_out(script, source, folder / "repository", filled)
    variables = {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
        **script.variables(filled),
        "PLANT": KINDS[kind],
        "PLANT_DIR": str(folder),
    }
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PLANT), variables.get("PYTHONPATH", "")]))
    words = [start, *script.words(filled)]
    before = files(folder)
    outcome: dict[str, Any] = {"script": script.name, "kind": kind, "date": time.strftime("%Y-%m-%d")}
    began = time.monotonic()
    act = by_hand if kind == "hand" else by_allranks
    try:
        outcome |= act(words, variables, here, folder, bench)
        outcome["seconds"] = round(time.monotonic() - began, 1)
        outcome["stepped"] = [int(path.read_text()) for path in sorted(folder.glob("steps-*"))]
        outcome["files"] = files(folder) - before
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
    return outcome


def laid_out(script: Script, source: Path, folder: Path, places: dict[str, str]) -> tuple[Path, str]:
    """The folder that the command is typed in, and how it names the script there: a copy of the script's own folder,
    at its depth, for scripts write beside themselves."""
    here, start = folder, str(source)
    if not script.package:
        here, start = folder / Path(script.path).parent, source.name
        shutil.copytree(source.parent, here)
    folder.mkdir(exist_ok=True)
    whole = str(source)[: -len(script.path) - 1]
    for target, place in script.links({**places, "repository": whole}).items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if Path(place).is_dir() else shutil.copy2
        copy(place, folder / target)
    return here, start


def files(folder: Path) -> int:
    """How many files with the endings of weights the script left."""
    return sum(path.suffix in SAVED for path in folder.rglob("*") if path.is_file())


def has_loss(journal: Path) -> bool:
    """Whether a heartbeat told the loss of a step: each step is `[number, loss, …]`."""
    lines = journal.read_text(errors="replace").splitlines() if journal.exists() else []
    beats = [json.loads(line)["data"] for line in lines if '"beat"' in line]
    return any(len(step) > 1 and step[1] is not None for beat in beats for step in beat.get("steps") or ())


def by_hand(
    words: list[str], variables: Mapping[str, str], here: Path, folder: Path, bench: Bench
) -> dict[str, Any]:
    """Three torchruns on this machine, a node each."""
    environment = {name: os.environ[name] for name in BASIC if name in os.environ} | dict(variables)
    torchrun = [bench.places.python, "-m", "torch.distributed.run", f"--nnodes={NODES}", "--nproc-per-node=1"]
    torchrun += ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    with contextlib.ExitStack() as stack:
        started = []
        for node in range(NODES):
            log = stack.enter_context((folder / f"hand-{node}.log").open("wb"))
            command = [*torchrun, f"--node-rank={node}", *words]
            keys = {
                "cwd": here,
                "env": environment,
                "stdout": log,
                "stderr": log,
                "stdin": subprocess.DEVNULL,
            }
            started.append(
                stack.enter_context(ended(subprocess.Popen(command, start_new_session=True, **keys)))
            )
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and any(one.poll() is None for one in started):
            time.sleep(0.2)
            if any(one.poll() for one in started):  # the others only wait for it
                time.sleep(3.0)
                break
        codes = [one.poll() for one in started]
    answer: dict[str, Any] = {"ok": codes == [0] * NODES, "codes": codes}
    if not answer["ok"]:
        answer["log"] = last_words(folder)
    return answer


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """torchrun ends its ranks at SIGTERM; what is left of its session is killed."""
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                handle = os.pidfd_open(int(path.name))
                try:
                    if os.getsid(int(path.name)) == process.pid:
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)
        process.wait(20)


def last_words(folder: Path) -> str:
    """The last line of an exception in the logs, to know why a script cannot be run here."""
    lines = [
        line
        for path in sorted(folder.glob("hand-*.log"))
        for line in path.read_text(errors="replace").splitlines()
    ]
    why = re.compile(r"Error\b|: error: ")
    told = [
        line for line in lines if why.search(line) and "ChildFailedError" not in line and "  File" not in line
    ]
    return (told or lines or [""])[-1].strip()[:300]


def by_allranks(
    words: list[str], variables: Mapping[str, str], here: Path, folder: Path, bench: Bench
) -> dict[str, Any]:
    """`allranks run --cpu -- torchrun …`, where by hand three torchruns would be typed."""
    allranks = ["env", f"ALLRANKS_HOME={bench.home}", sys.executable, "-m", "allranks.cli"]
    command = [
        *allranks,
        "run",
        "--json",
        "--cpu",
        "--nodes",
        f"node-[0-{NODES - 1}]",
        "--set",
        "same_host=true",
    ]
    command += ["--set", f"environment.python={bench.places.python}", "--"]
    command += [f"{name}={value}" for name, value in variables.items()]
    command += ["torchrun", f"--nnodes={NODES}", "--nproc-per-node=1", *words]
    keys = {"cwd": here, "stdin": subprocess.DEVNULL, "text": True}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **keys
    )
    late = False
    try:
        said, trouble = process.communicate(timeout=SECONDS + 60.0)
    except subprocess.TimeoutExpired:
        late = True
        subprocess.run([*allranks, "stop", "-y"], cwd=here, capture_output=True, timeout=120)
        said, trouble = process.communicate(timeout=120)
    answer: dict[str, Any] = {"code": process.returncode, "late": late}
    try:
        told = json.loads(said)
    except ValueError:
        return {**answer, "ok": False, "said": (said + trouble)[-600:]}
    if not told.get("runs"):
        bad = [one for one in told.get("findings", ()) if one.get("blocks") or one.get("verdict") != "note"]
        return {**answer, "ok": False, "said": json.dumps(bad or told)[:900]}
    run = told["runs"][0]
    answer |= of_run(run)
    return answer


def of_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """What the run's own answer says of steps, loss, saves and cause. The adapter of a run that is known as
    LLaMA-Factory is told apart from other saves."""
    adapter = run.get("adapter") or {}
    saves = [*([adapter] if adapter.get("path") else []), *(run.get("saves") or ())]
    told = run.get("diagnosis") or {}
    found = [
        f"{one['verdict']} {one['id']}: {one['saw']}"[:240]
        for one in run["findings"]
        if one["verdict"] != "note"
    ]
    return {
        "ok": run["state"] == "succeeded",
        "state": run["state"],
        "step": run["step"],
        "loss": has_loss(Path(run["directory"]) / "keeper" / "journal.jsonl"),
        "saves": len(saves),
        "saved": [Path(one["path"]).name for one in saves],
        "whole": [one.get("whole") for one in saves],
        "cause": told.get("cause"),
        "rank": (told.get("where") or {}).get("rank"),
        "evidence": next(iter(told.get("evidence") or ()), "")[:300],
        "fix": (told.get("fix") or "")[:200],
        "findings": found,
        "notes": sorted({one["id"] for one in run["findings"] if one["verdict"] == "note"}),
    }
