"""From the end of the probe to the first step on three nodes of the rig, against the same by hand over ssh."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml

from benchmarks.start_time import LIMIT_SECONDS, ROOT, RUN_FILE, first_step, phase_times
from tests.rig.rig import STATE, Rig, only_one

TITLE = "From the probe to the first step on three machines, against torchrun by hand over ssh"
ROUNDS = int(os.environ.get("RIG_ROUNDS", "5"))
SIZE = 3
END_SECONDS = 60.0
FIRST_SECONDS = 900.0
"""In the first round DeepSpeed's operator is compiled, once for all nodes: OPERATORS is the same folder on each."""

OPERATORS = STATE / "nfs" / "operators"

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def measure() -> str:
    """Both sides train the same model with the same arguments on the same three nodes, in turns; the first step is
    the first line of the trainer's own log."""
    if os.geteuid():
        return "The rig needs root: nothing was measured."
    with only_one(), Rig(SIZE, shared=[sys.prefix, sys.base_prefix]) as rig:
        home = at_home()
        by_hand(rig), ours(rig, home)
        pairs = [(by_hand(rig), ours(rig, home)) for _ in range(ROUNDS)]
    lines = [
        "| round | by hand over ssh, s | allranks, s | ratio | its checks, preparing and probe before that, s |",
        "|---|---|---|---|---|",
    ]
    ratios = [mine[0] / theirs for theirs, mine in pairs]
    for number, ((theirs, mine), ratio) in enumerate(zip(pairs, ratios, strict=True), 1):
        lines.append(f"| {number} | {theirs:.2f} | {mine[0]:.2f} | {ratio:.3f} | {mine[1]:.2f} |")
    lines.append(
        f"\n{SIZE} nodes in namespaces, each with its own network and sshd, one rank per node. Median ratio "
        f"**{statistics.median(ratios):.3f}** (aim ≤ 1.10), after one round of warm-up."
    )
    return "\n".join(lines)


def at_home() -> Path:
    """A controller's home with the way to the nodes, and the demo's run file on three machines instead of one."""
    OPERATORS.mkdir()
    home = STATE / "home"
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    for name in ("ssh_config", "known_hosts"):
        (home / ".ssh" / name.replace("ssh_", "")).write_text((STATE / name).read_text())
    run = yaml.safe_load(RUN_FILE.read_text())
    arguments = run["train"]["llamafactory"]
    for key in ("model_name_or_path", "dataset_dir"):
        arguments[key] = str((RUN_FILE.parent / arguments[key]).resolve())
    del run["same_host"]
    run.update(nodes=f"node[1-{SIZE}]", environment={"python": sys.executable})
    run["env"]["TORCH_EXTENSIONS_DIR"] = str(OPERATORS)
    (home / "run.yaml").write_text(yaml.safe_dump(run))
    return home


def by_hand(rig: Rig) -> float:
    """Seconds from starting `benchmarks/by_hand.sh` to the first line of its trainer_log.jsonl."""
    folder = STATE / "nfs" / "by-hand"  # this path is the same folder on every node
    folder.mkdir()
    hosts = " ".join(f"node{n}" for n in range(1, SIZE + 1))
    settings = [
        f"HOSTS={hosts}",
        f"SSH_CONFIG={STATE}/ssh_config",
        "PORT=29511",
        f"TORCH_EXTENSIONS_DIR={OPERATORS}",
    ]
    begin = time.time()
    script = ["env", *settings, "bash", str(ROOT / "benchmarks" / "by_hand.sh"), str(folder)]
    process = subprocess.Popen(rig.from_ctl(script), **QUIET)
    try:
        return first_step(folder, process, FIRST_SECONDS) - begin
    finally:
        process.terminate()  # its trap ends the ssh's, and with them the torchruns
        process.wait(LIMIT_SECONDS)
        until_quiet(rig)
        shutil.rmtree(folder, ignore_errors=True)


def ours(rig: Rig, home: Path) -> tuple[float, float]:
    """Seconds from the end of the probe to the first step, and the seconds before that."""
    allranks = ["env", f"HOME={home}", str(Path(sys.executable).parent / "allranks")]
    said = (home / "run.log").open("w+")
    command = rig.from_ctl([*allranks, "run", str(home / "run.yaml"), "--json"])
    process = subprocess.Popen(command, stdout=said, stderr=said)
    runs = Path(f"/proc/{rig.init_pid(1)}/root/root/.allranks/runs")
    try:
        step_at = first_step(runs, process, FIRST_SECONDS)
        phases = phase_times(next(runs.glob("*/keeper/journal.jsonl")))
        return step_at - phases["launch"], phases["launch"] - phases["check"]
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{(home / 'run.log').read_text()[-3000:]}") from None
    finally:
        for run in [path.name for path in runs.glob("*")]:
            subprocess.run(rig.from_ctl([*allranks, "stop", run, "-y"]), check=False, **QUIET)
            subprocess.run(
                rig.from_ctl([*allranks, "clean", run, "--files", "--models", "-y"]), check=False, **QUIET
            )
        process.wait(LIMIT_SECONDS)
        said.close()
        until_quiet(rig)


def until_quiet(rig: Rig) -> None:
    """Waits until no training of the last turn lives on any node."""
    deadline = time.monotonic() + END_SECONDS
    for number in range(1, SIZE + 1):
        while b"torch.distributed.run" in words_of(rig, number):
            if time.monotonic() > deadline:
                raise RuntimeError(f"node{number}: a training did not end within {END_SECONDS:.0f} s")
            time.sleep(0.1)


def words_of(rig: Rig, number: int) -> bytes:
    """All command lines of a node."""
    return rig.run(number, ["sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null || true"]).stdout
