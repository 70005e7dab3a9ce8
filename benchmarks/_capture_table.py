"""The table of the hardware checks on machines from elsewhere, from the pointers and the verdicts in `corpora`."""

from __future__ import annotations

import collections
import csv
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

CORPORA = Path(__file__).resolve().parent / "corpora"
VERDICTS = ("true", "false", "cannot tell", "not judged")
ENOUGH = 30

SEARCHED = {
    "acs-redirects": "`lspci -vv` of root with `ACSCtl` on machines with GPUs",
    "container-toolkit": "`nvidia-ctk --version` beside a list of GPUs; threads show it only if it is there",
    "driver-mismatch": "`ldconfig -p` beside /proc/driver/nvidia/version; kernel logs name both only if they differ",
    "driver-pending": "`modinfo nvidia` beside /proc/driver/nvidia/version",
    "fabric-manager": "`systemctl status nvidia-fabricmanager` beside `lspci`; none from a machine with NVSwitches",
    "gpu-lost": "`lspci` beside `nvidia-smi -q`: only bug reports hold both",
    "gpu-model": "`nvidia-smi -q` of machines with several GPUs",
    "gpudirect-missing": "`lsmod` and `uname -r` beside ibstat of a machine with GPUs",
    "ib-errors": "the counters of /sys/class/infiniband; ibstat does not print them",
    "ib-gid-index": "ibstat of active InfiniBand ports, or show_gids of RoCE ports",
    "ib-hca": "ibstat, ibstatus and ibv_devinfo in repositories and threads",
    "ib-no-access": "the rights of /dev/infiniband beside ibstat",
    "ib-port-down": "ibstat of two nodes of one cluster",
    "ib-slow": "ibstat of two nodes of one cluster",
    "ib-unused": "ibstat, ibstatus and ibv_devinfo in repositories and threads",
    "memlock-low": "`ulimit -l` beside ibstat",
    "nvlink-inactive": "`nvidia-smi nvlink -s` with an inactive link, or of all GPUs of a machine",
}
"""What was looked for, in public repositories and threads, for the checks that fewer captures tell enough for."""


@dataclasses.dataclass(frozen=True)
class Sentence:
    machine: str
    rule: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.machine}\n{self.rule}\n{self.text}".encode()).hexdigest()[:12]


FOUND = """The captures showed these wrong judgements, which are fixed: ACS on root ports counted although it changes
no way between GPUs (4 machines); torch for CUDA 12 on driver 470 was an error although an image's cuda-
compat makes it work (3 machines); the remark that driver 610 appends to its version was read as a part of
it; a masked UUID was one GPU in two nodes; of two nodes that differ, the first was called *most nodes*; a
node without the nvidia module was not told if its device files were unknown."""


def pointers() -> list[dict[str, str]]:
    with open(CORPORA / "captures.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def verdicts() -> dict[str, dict[str, str]]:
    path = CORPORA / "captures_judged.tsv"
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["sentence"]: row for row in csv.DictReader(file, delimiter="\t")}


def about(machines: int) -> list[str]:
    rows = pointers()
    kinds = collections.Counter(row["kind"] for row in rows)
    files = len({row["file"] for row in rows})
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    repositories = len({row["repository"] for row in rows})
    return [
        f"{len(rows)} captures ({told}) in {files} files of {repositories} repositories. They tell of {machines}",
        "machines; one that was captured idle and under load counts twice. *Could judge* means that a capture tells",
        "what the check judges by. A person compared each sentence with the capture, or wrote what compares all",
        "sentences of its kind. Of threads, only the lines that a search showed were kept: their commit is `thread`.",
    ]


def table(counted: Mapping[str, collections.Counter[str]], sentences: list[Sentence]) -> list[str]:
    known = verdicts()
    rows = ["| check | could judge | silent | spoke | sentences | true | false | cannot tell | not judged |"]
    rows.append("|---|---|---|---|---|---|---|---|---|")
    for rule, count in sorted(counted.items()):
        if not count["silent"] + count["spoke"]:
            continue
        own = [one for one in sentences if one.rule == rule]
        said = collections.Counter(known.get(one.digest, {}).get("verdict", "not judged") for one in own)
        cells = [count["silent"] + count["spoke"], count["silent"], count["spoke"], len(own)]
        rows.append(
            f"| {rule} | " + " | ".join(str(n) for n in [*cells, *(said[v] for v in VERDICTS)]) + " |"
        )
    never = sorted(rule for rule, count in counted.items() if not count["silent"] + count["spoke"])
    few = [rule for rule, count in sorted(counted.items()) if count["silent"] + count["spoke"] < ENOUGH]
    sought = [f"- {rule}: {SEARCHED[rule]}" for rule in few]
    return [
        *rows,
        "",
        FOUND,
        "",
        f"No capture tells enough for {', '.join(never)}. For checks with fewer than {ENOUGH}, this was looked for:",
        "",
        *sought,
    ]


def trouble(refused: Iterable[tuple[str, str]], sentences: list[Sentence]) -> list[str]:
    """What could not be read, what is not judged, and what is not true."""
    known = verdicts()
    lines = [f"- refused by its reader: {name}, {why}" for name, why in refused]
    for one in sentences:
        verdict = known.get(one.digest, {})
        if verdict.get("verdict") != "true":
            why = verdict.get("reason", "not judged")
            lines.append(
                f"- {one.machine}, {one.rule} ({verdict.get('verdict', one.digest)}): {one.text}. {why}"
            )
    return [re.sub(r"\s+", " ", line) for line in lines]
