"""The hardware checks on machines from elsewhere: where each could judge, where it spoke, and whether that was true.

    make bench-captures CAPTURES=FOLDER

FOLDER holds what people published of their machines: `nvidia-smi -q -x` and `-q`, `topo -m`, `nvlink -s`, ibstat,
ibstatus, ibv_devinfo, `lspci -vv`, trees of /sys, the kernel's log. Which ones were measured stands in
`benchmarks/corpora/captures.tsv`: the file below FOLDER, where it is from, the lines of it that are the capture, the
machine that it tells of, and the machine beside which it is judged. The captures of one machine are read together, by
the product's own readers. What no capture tells is unknown, and so is all of the run's second node, unless a machine
is named for it.

`benchmarks/corpora/captures_judged.tsv` holds what a person found who compared each sentence with the capture: true,
false, or that the capture cannot tell. A sentence that is not in it, or that has changed, is shown as not judged.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from allranks import checks, spec
from allranks.checks import fabric, versions
from allranks.checks.catalogue import Rule, all_rules
from allranks.checks.context import Context, View
from allranks.core import Facts, Finding
from allranks.node.facts import _pci, gpus, infiniband, topology
from allranks.node.facts._reading import Unreadable
from allranks.plan import make_plan
from benchmarks import _capture_formats as formats
from benchmarks import _capture_reports as reports
from benchmarks._capture_table import Sentence, about, pointers, table, trouble

TITLE = "Hardware checks on machines from elsewhere"
ON_REQUEST = True

FAMILIES = ("gpus", "driver", "topology", "infiniband")
UNTOLD = "the capture does not tell"

WITHIN = {
    "gpu-compute-mode": ("gpus.list", "compute_mode"),
    "gpu-ecc": ("gpus.list", "ecc.on"),
    "gpu-mig": ("gpus.list", "mig"),
    "gpu-model": ("gpus.list", "name"),
    "gpu-pcie": ("gpus.list", "pcie.width"),
    "gpu-persistence": ("gpus.list", "persistence"),
    "gpu-power-limit": ("gpus.list", "power.limit_watts"),
    "gpu-row-remap": ("gpus.list", "rows.pending"),
    "gpu-slowed": ("gpus.list", "clocks.sm_mhz"),
    "gpu-uuid-twice": ("gpus.list", "uuid"),
    "gpu-busy": ("gpus.list", "memory.used_bytes"),
    "ib-errors": ("ports", "counters.link_downed"),
    "ib-gid-index": ("ports", "gids"),
    "ib-hca": ("ports", "state"),
    "ib-port-down": ("ports", "state"),
    "ib-slow": ("ports", "rate_gbits"),
    "ib-unused": ("ports", "state"),
    "gpudirect-missing": ("ports", "state"),
    "ib-no-access": ("ports", "state"),
}
"""A rule whose fact was read, and that judges by a part of it which old drivers and boards leave out."""

ENOUGH = {"driver-not-loaded": ("driver.gpus_on_bus", "driver.modules")}
"""Those that judge by these alone if nothing tells the rest of what they need."""

COMPARES = ("ib-port-down", "ib-slow")
"""Those that compare machines: they judge only where a second one is named."""

PAIRED = ("driver-differs", "gpu-uuid-twice")
"""Those that compare machines by what most captures tell: each machine is judged beside the next one."""

MIG_SHOWN = 450
"""The first driver branch that prints the MIG mode: N/A is then what it says of a GPU without MIG."""

SETTINGS = {
    "ib-gid-index": {"NCCL_IB_GID_INDEX": "3"},
    "ib-hca": {"NCCL_IB_HCA": "mlx5_1"},
    "ib-unused": {"NCCL_IB_DISABLE": "1"},
}
"""Those that judge a setting: the run has it."""


@dataclasses.dataclass
class Machine:
    """What its captures tell: the values, and the reason for each that could not be read."""

    name: str
    files: list[str]
    values: dict[str, Any]
    failed: dict[str, str]
    beside: str = ""

    def facts(self, node: str) -> Facts:
        read = {f"{family}.{fact}" for family, held in self.values.items() for fact in held}
        wanted = {need for rule in all_rules().values() for need in rule.needs}
        untold = {need: UNTOLD for need in wanted if not any(need.startswith(path) for path in read)}
        system = {**self.values.get("system", {}), "boot_id": f"{self.name}-{node}"}
        values = {**self.values, "system": system}
        return Facts(node, 1.0, values, {**untold, **self.failed})

    def with_devices(self) -> Machine:
        """With the GPUs and network devices that its matrix or NVLinks name, where nothing else tells of any."""
        links = self.values.get("topology", {}).get("nvlinks", {})
        matrix = self.values.get("topology", {}).get("matrix", {})
        names = (
            {name for row in matrix.values() for name in row}
            | set(matrix)
            | {f"GPU{index}" for index in links}
        )
        boards = {name for name in names if name.startswith("GPU")}
        told = (
            {"infiniband": {"devices": {name: {"ports": {}} for name in names - boards}}}
            if names - boards
            else {}
        )
        listed = {"gpus": {"list": [{"name": "GPU"} for _ in boards]}}
        return dataclasses.replace(self, values={**told, **listed, **self.values})


def measure() -> str:
    folder = os.environ.get("CAPTURES")
    if not folder:
        return "No captures: `make bench-captures CAPTURES=FOLDER`."
    machines = read(Path(folder))
    counted: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    sentences: list[Sentence] = []
    for machine in machines.values():
        for rule, outcome, said in judged(machine, machines):
            counted[rule][outcome] += 1
            sentences += [Sentence(machine.name, rule, text) for text in said]
    refused = [(name, why) for name, one in machines.items() for why in one.failed.values()]
    return "\n".join(
        [*about(len(machines)), "", *table(counted, sentences), "", *trouble(refused, sentences)]
    )


# ---- reading ----


def read(folder: Path) -> dict[str, Machine]:
    """The machines by name. A file whose content is another than the measured one is an error."""
    machines: dict[str, Machine] = {}
    for row in pointers():
        content = (folder / row["file"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != row["sha256"]:
            raise SystemExit(f"{row['file']} is not the file that was measured")
        machine = machines.setdefault(row["machine"], Machine(row["machine"], [], {}, {}))
        machine.files.append(row["file"])
        machine.beside = machine.beside or row["beside"]
        take(machine, row["kind"], part(content, row["lines"]))
    return machines


def part(content: bytes, lines: str) -> bytes:
    if not lines:
        return content
    found: list[bytes] = []
    for span in lines.split(","):
        first, last = (int(number) for number in span.split("-"))
        found += content.splitlines()[first - 1 : last]
    return b"\n".join(found) + b"\n"


def take(machine: Machine, kind: str, content: bytes) -> None:
    """Reads one capture by the product's reader of it."""
    text = content.decode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        try:
            found = READERS[kind](text, content, place)
        except Unreadable as error:
            machine.failed[UNREAD[kind]] = str(error)
            return
    for family, values in found.items():
        if "failed" in values:
            machine.failed[f"{family}.list"] = values["failed"]
        else:
            machine.values.setdefault(family, {}).update(values)


def of_ports(text: str, content: bytes, place: Path) -> dict[str, Any]:
    formats.infiniband_tree(text, place)
    return {"infiniband": {"devices": infiniband.devices(str(place))}}


def of_lspci(text: str, content: bytes, place: Path) -> dict[str, Any]:
    formats.pci_tree(text, place)
    return of_bus(place / "bus")


def of_report(text: str, content: bytes, place: Path) -> dict[str, Any]:
    found = reports.facts(content, place)
    if (place / "bus").exists():
        found["driver"] |= of_bus(place / "bus")["driver"]
    return found


def of_bus(root: Path) -> dict[str, Any]:
    devices = _pci.devices(str(root))
    found: dict[str, Any] = {
        "devices": devices,
        "gpus_on_bus": sum(one["kind"] == "gpu" for one in devices),
        "nvswitches": sum(one["kind"] == "nvswitch" for one in devices),
    }
    redirects = _pci.acs_redirects(str(root))
    return {"driver": {**found, **({} if redirects is None else {"acs_redirects": redirects})}}


def of_tree(text: str, content: bytes, place: Path) -> dict[str, Any]:
    """A packed tree of /sys; of it, what the readers look at."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = [one for one in archive if re.search("/bus/pci/|/devices/pci|infiniband", one.name)]
        archive.extractall(place, members, filter=tarfile.tar_filter)
    return of_sys(place)


def of_ttar(text: str, content: bytes, place: Path) -> dict[str, Any]:
    """Prometheus's text archive of a tree of /sys."""
    lines = iter(text.splitlines())
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "Path" and re.search("/bus/pci/|/devices/pci|infiniband", value):
            path = place / value
            path.parent.mkdir(parents=True, exist_ok=True)
            key, _, value = next(lines).partition(": ")
            if key == "SymlinkTo":
                path.symlink_to(value)
            else:
                count = int(value.removesuffix("EOF"))
                path.write_text("\n".join(next(lines) for _ in range(count)).replace("NULLBYTE", "\0") + "\n")
    return of_sys(place)


def of_sys(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for root in sorted(place.rglob("bus/pci/devices")):
        found.update(of_bus(root))
    ports = [path.parent.parent for path in sorted(place.rglob("*/ports")) if path.is_dir()]
    if ports:
        found["infiniband"] = {"devices": infiniband.devices(str(ports[0]))}
    return found


READERS = {
    "smi-xml": lambda text, *_: {"gpus": gpus.parse(text)},
    "smi-q": lambda text, *_: {"gpus": gpus.parse(formats.smi_xml(text))},
    "topo": lambda text, *_: {"topology": {"matrix": topology.parse_matrix(text)}},
    "nvlink": lambda text, *_: {"topology": {"nvlinks": topology.parse_nvlinks(text)}},
    "ports": of_ports,
    "lspci": of_lspci,
    "log": lambda text, *_: {"driver": reports.of_log(text)},
    "report": of_report,
    "torch": lambda text, *_: reports.of_torch(text),
    "tree": of_tree,
    "ttar": of_ttar,
}
UNREAD = {"smi-xml": "gpus.list", "smi-q": "gpus.list", "topo": "topology.matrix"}


# ---- judging ----


def hardware() -> list[Rule]:
    """The rules that judge by what these captures can tell."""
    return [r for r in all_rules().values() if any(need.split(".")[0] in FAMILIES for need in r.needs)]


def judged(machine: Machine, machines: Mapping[str, Machine]) -> Iterable[tuple[str, str, list[str]]]:
    """`(rule, spoke or silent or unknown, what it said)`."""
    other = machines.get(machine.beside) or Machine("nobody", [], {}, {})
    facts = [machine.facts("node-1"), other.facts("node-2")]
    count = len(facts[0].get("gpus.list", ())) or 1
    usual = outcome(facts, count, {})
    neighbour = beside(machine, machines)
    for rule in hardware():
        if rule.id in PAIRED:
            yield rule.id, *paired(rule, machine, neighbour)
            continue
        setting = SETTINGS.get(rule.id)
        context, findings = outcome(facts, count, setting) if setting else usual
        boards = count
        if rule.id in ("nic-far", "nvlink-inactive"):
            drawn = machine.with_devices().facts("node-1")
            boards = len(drawn.get("gpus.list", ())) or 1
            context, findings = outcome([drawn, facts[1]], boards, {})
        mine = [one for one in findings if one.id == rule.id]
        said = [text_of(one) for one in mine if one.where.node != "node-2"]
        if not machine.beside:
            said += [
                f"of a node that told nothing: {text_of(one)}" for one in mine if one.where.node == "node-2"
            ]
        known = rule.applies(context) and has_all(rule, context.views[0])
        known = known and (rule.id not in COMPARES or bool(machine.beside))
        known = known and (rule.id not in ("gpu-model", "nvlink-inactive") or boards > 1)
        yield rule.id, "spoke" if said else "silent" if known else "unknown", said


def beside(machine: Machine, machines: Mapping[str, Machine]) -> Machine | None:
    """The next machine by name that tells of its GPUs too; None if this one does not."""
    told = sorted(name for name, one in machines.items() if one.values.get("gpus", {}).get("list"))
    if machine.name not in told:
        return None
    return machines[told[(told.index(machine.name) + 1) % len(told)]]


def paired(rule: Rule, machine: Machine, other: Machine | None) -> tuple[str, list[str]]:
    if other is None:
        return "unknown", []
    facts = [machine.facts("node-1"), other.facts("node-2")]
    context, findings = outcome(facts, 1, {})
    if not all(has_all(rule, view) for view in context.views):
        return "unknown", []
    said = [f"beside {other.name}: {text_of(one)}" for one in findings if one.id == rule.id]
    return "spoke" if said else "silent", said


def has_all(rule: Rule, view: View) -> bool:
    needs = ENOUGH.get(rule.id, rule.needs)
    if any(view.facts.why_unreadable(need) or not view.has(need) for need in needs):
        return False
    if rule.id == "gpu-mig" and (versions.branch(view.text("gpus.driver")) or 0) >= MIG_SHOWN:
        return True
    place, path = WITHIN.get(rule.id, ("", ""))
    rows = [port for *_, port in fabric.ports(view)] if place == "ports" else view.maps(place)
    return not place or any(formats.at(one, path) not in (None, [], {}) for one in rows)


def outcome(facts: list[Facts], count: int, env: Mapping[str, str]) -> tuple[Context, list[Finding]]:
    run, plan = planned(count, tuple(sorted(env.items())))
    return Context.make(facts, plan, run), checks.judge(facts, plan, run)


@functools.cache
def planned(count: int, env: tuple[tuple[str, str], ...]) -> tuple[Any, Any]:
    """A run on two nodes of `count` GPUs, and its plan, which none of these checks judges."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "sft.yaml").write_text(yaml.safe_dump({**TRAINING, "output_dir": "/runs/one"}))
        text = {
            "name": "one",
            "nodes": [{"name": f"node-{n}", "address": f"10.0.0.{n}"} for n in (1, 2)],
            "gpus": count,
            "environment": {"python": "/opt/env/bin/python"},
            "env": dict(env),
            "train": {"llamafactory": str(place / "sft.yaml")},
        }
        (place / "run.yaml").write_text(yaml.safe_dump(text))
        run = spec.load(place / "run.yaml")
        return run, make_plan(run, None, None)


TRAINING = {
    "stage": "sft",
    "do_train": True,
    "model_name_or_path": "/models/one",
    "dataset": "data",
    "template": "default",
    "finetuning_type": "lora",
    "bf16": True,
}


def text_of(finding: Finding) -> str:
    return f"{finding.verdict}: {finding.saw}; expected {finding.expected}"
