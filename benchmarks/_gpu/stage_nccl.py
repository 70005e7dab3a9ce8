"""NCCL on one GPU: the probe's ladder, two ranks that share the GPU, a rank that hangs in an all-reduce, and what the
flight recorder says of it.

Between two ranks of one GPU NCCL stops with "Duplicate GPU detected", unless its version has a switch for it
(NCCL_MULTI_RANK_GPU_ENABLE); what it does here is tried, and left out where it refuses. One rank alone has the
recorder of NCCL, too: its GPU is kept busy before a collective that was enqueued.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from allranks.node.probing import ranks
from allranks.probe.steps import CPU_BYTES, GPU_BYTES, LADDER
from benchmarks._gpu.parts import ROOT, TAIL, LeftOut, Machine, Part, environment, one_rank
from benchmarks._gpu.redaction import scrubbed
from benchmarks._gpu.stage_facts import places
from tests.harness import free_port

TITLE = "NCCL on one GPU: the probe's ladder, a hang, the flight recorder"
RANK = Path(__file__).parent / "_hang_rank.py"
SHARE = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}
REFUSED = "Duplicate GPU"


def rung(machine: Machine, off: tuple[str, ...], world: int) -> dict[str, Any]:
    """One step of the probe's ladder with the probe's own ranks."""
    port = free_port()
    wanted = {
        "node": "here",
        "python": sys.executable,
        "ranks": [{"rank": n, "local_rank": 0} for n in range(world)],
        "world_size": world,
        "master": {"host": "127.0.0.1", "port": port},
        "backend": "gloo" if machine.tiny else "nccl",
        "env": {
            **{name: "1" for name in off},
            **(SHARE if world > 1 else {}),
            "GLOO_SOCKET_IFNAME": "lo",
            "NCCL_SOCKET_IFNAME": "lo",
        },
        "bytes": CPU_BYTES // 8 if machine.tiny else GPU_BYTES,
        "limit_seconds": 60,
    }
    said: dict[int, dict[str, Any]] = {n: {} for n in range(world)}
    for line in ranks.run(wanted, lambda: False):
        if "said" in line:
            said[line["rank"]][line["said"].get("at")] = line["said"]
        elif "ended" in line:
            said[line["rank"]]["ended"] = {"code": line["ended"], "tail": line["tail"][-TAIL:]}
        elif line.get("left"):
            raise RuntimeError(f"the probe left processes: {line['left']}")
    return told(said)


def told(said: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """What became of a step: whether every rank summed rightly, how fast, or why not."""
    codes = {rank: one.get("ended", {}).get("code") for rank, one in said.items()}
    if any(code != 0 for code in codes.values()):
        tails = "\n".join(one.get("ended", {}).get("tail", "") for one in said.values())
        return {"passed": False, "codes": codes, "refused": REFUSED in tails, "tail": tails[-TAIL:]}
    slowest = max(one["measured"]["seconds"] for one in said.values())
    size = said[0]["measured"]["bytes"]
    return {
        "passed": all(one["summed"]["wrong"] == 0 for one in said.values()),
        "codes": codes,
        "nccl": said[0]["imported"].get("nccl"),
        "seconds": slowest,
        "bytes": size,
        "bytes_per_second": size / slowest,
    }


def ladder(machine: Machine) -> dict[str, Any]:
    """One rank, each step: NCCL's start, a sum that is known, and the time of an all-reduce with itself."""
    steps = {name: rung(machine, off, 1) for name, off in (LADDER if not machine.tiny else LADDER[:1])}
    return {"steps": steps, "met": all(one["passed"] for one in steps.values())}


def shared(machine: Machine) -> dict[str, Any]:
    """Two ranks on one GPU."""
    steps: dict[str, Any] = {}
    for name, off in LADDER[:3] if not machine.tiny else LADDER[:1]:
        steps[name] = rung(machine, off, 2)
        if steps[name].get("refused"):
            raise LeftOut(f"NCCL lets no two ranks share a GPU here: {line_with(steps[name]['tail'])}")
    return {"steps": steps, "met": all(one["passed"] for one in steps.values())}


def line_with(tail: str) -> str:
    return next((line.strip() for line in tail.splitlines() if REFUSED in line), "")[-300:]


# ---- a hang ----


def hung(machine: Machine, world: int) -> list[list[dict[str, Any]]]:
    """What each rank of the hanging job said."""
    port, mine = free_port(), []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpu-hang-")))
        for rank in range(world):
            env = {
                **one_rank(port, rank, world),
                **(SHARE if world > 1 else {}),
                "LOCAL_RANK": "0",
                "BACKEND": "gloo" if machine.tiny else "nccl",
                "DEVICE": machine.device,
                "ALONE": "1" if world == 1 else "0",
                "LOOK_SECONDS": "1" if machine.tiny else "3",
                "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
                "NCCL_SOCKET_IFNAME": "lo",
            }
            log = stack.enter_context((folder / str(rank)).open("w+b"))
            child = subprocess.Popen(
                [sys.executable, str(RANK)], env=environment(env), stdout=log, stderr=log, cwd=ROOT
            )
            stack.callback(ended, child)
            mine.append((child, folder / str(rank)))
        for child, _ in mine:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=60)
        outputs = [path.read_text(errors="replace") for _, path in mine]
    if any(REFUSED in text for text in outputs):
        raise LeftOut(f"NCCL lets no two ranks share a GPU here: {line_with(''.join(outputs))}")
    said = [
        [json.loads(line.removeprefix("RESULT ")) for line in text.splitlines() if line.startswith("RESULT ")]
        for text in outputs
    ]
    if not all(any(one["at"] == "looked" for one in rows) for rows in said):
        raise RuntimeError("a rank told nothing of its recorder: " + "\n".join(outputs)[-TAIL:])
    return said


def ended(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()


def hang(machine: Machine) -> dict[str, Any]:
    """Two ranks, one that does not come: the recorders of both tell who is missing."""
    waits, sleeps = (next(one for one in rows if one["at"] == "looked") for rows in hung(machine, 2))
    ahead, behind = (number_of(one["newest"]) for one in (waits, sleeps))
    return scrubbed(
        {"waits": waits, "sleeps": sleeps, "numbers": [ahead, behind], "met": ahead == behind + 1}, places()
    )


def number_of(newest: dict[str, Any]) -> int:
    """The number of the collective that a rank stands in, or has last seen."""
    pending = newest.get("pending")
    return int((pending or newest)["sequence"])


def recorder(machine: Machine) -> dict[str, Any]:
    """One rank whose all-reduce was enqueued behind work that does not end: NCCL's recorder must show it as pending,
    and asking it must not wait for the GPU. On a CPU there is nothing to keep busy, and it must show none."""
    (rows,) = hung(machine, 1)
    looked = next(one for one in rows if one["at"] == "looked")
    pending = looked["newest"].get("pending")
    met = bool(pending) and looked["seconds"] < 1.0 if not machine.tiny else None
    return scrubbed({**looked, "begun": rows[0], "met": met}, places())


PARTS = (
    Part("ladder", ladder, 120.0, ("torch",)),
    Part("recorder", recorder, 90.0, ("torch",)),
    Part("shared", shared, 150.0, ("torch",)),
    Part("hang", hang, 90.0, ("torch",)),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    lines = []
    for name, word in (("ladder", "one rank"), ("shared", "two ranks on one GPU")):
        if name in parts:
            lines += [f"The probe's ladder, {word}, NCCL {nccl_of(parts[name])}:", ""]
            lines += ["| step | outcome | all-reduce of | bytes a second |", "|---|---|---|---|"]
            for step, one in parts[name]["steps"].items():
                passed = one["passed"]
                size = f"{one['bytes'] / 2**20:.0f} MiB" if passed else ""
                rate = f"{one['bytes_per_second'] / 1e9:.1f} GB/s" if passed else ""
                lines.append(f"| {step} | {'passed' if passed else 'FAILED'} | {size} | {rate} |")
            lines.append("")
    if "recorder" in parts:
        one = parts["recorder"]
        lines.append(
            f"- An all-reduce behind work that does not end: pending `{one['newest'].get('pending')}`, completed "
            f"{one['newest'].get('completed')}, told in {1e3 * one['seconds']:.0f} ms."
        )
    if "hang" in parts:
        ahead, behind = parts["hang"]["numbers"]
        lines.append(
            f"- A rank that does not come to an all-reduce: the one that waits stands in number {ahead}, the other in "
            f"{behind}."
        )
    return "\n".join(lines)


def nccl_of(part: dict[str, Any]) -> str:
    return str(next((one.get("nccl") for one in part["steps"].values() if one.get("nccl")), "unknown"))
