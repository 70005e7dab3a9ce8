"""A cause is one file: nobody else spells its id, it has one page, and its file says how it behaves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from allranks import checks, diagnose, monitor, probe
from allranks.core import causes
from allranks.core.causes import AFTER_A_STEP, BLAME, END, NEVER, PASSES, REASON, Cause
from allranks.core.pages import is_page
from allranks.diagnose import catalogue, cause, ends

IDS = frozenset(diagnose.ids()) | frozenset(monitor.ids())
RULES = frozenset(checks.ids()) | frozenset(probe.ids())
KNOWN = IDS | RULES | {causes.UNPROVEN}
FOLDERS = ("diagnose/symptoms", "monitor/detectors", "checks/rules", "probe/rules")
EVENTS = frozenset(("lease-lost",))
"""Ids that are also kinds of events: as such they may stand anywhere."""

ABOVE = "core/causes.py"
"""Holds the ids that the nodes' program names without the catalogue."""


def strays(source: str, name: str) -> list[str]:
    """The ids of other files' causes and rules that stand as text in this one."""
    own = name.rpartition("/")[2][:-3].replace("_", "-") if name.startswith(FOLDERS) else ""
    if KNOWN.isdisjoint(re.findall(r"[\w-]+", source)):
        return []  # to parse all files takes two seconds
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    named = {text for text in texts if isinstance(text, str) and text in KNOWN}
    return sorted(named - {own} - EVENTS)


def test_no_id_stands_outside_its_own_file(root: Path) -> None:
    rooms = root / "src" / "allranks"
    found = {str(path.relative_to(rooms)): path for path in rooms.rglob("*.py")}
    told = {name: strays(path.read_text(encoding="utf-8"), name) for name, path in found.items()}
    assert told.pop(ABOVE) == sorted((causes.NODE_FAILURE, causes.SUPERVISOR_LOST, causes.UNPROVEN))
    assert told.pop("core/run_states.py") == [causes.UNPROVEN], "a run's state of the same name"
    assert {name: ids for name, ids in told.items() if ids} == {}


def test_an_id_elsewhere_would_be_found() -> None:
    assert strays('X = ("rank-sigkilled", "tea")', "runs/keeper.py") == ["rank-sigkilled"]
    assert strays('X = "rank-sigkilled"', "diagnose/symptoms/rank_sigkilled.py") == []


def test_the_ids_that_the_nodes_program_names_are_causes() -> None:
    assert {causes.NODE_FAILURE, causes.SUPERVISOR_LOST} <= IDS


def test_a_wrong_attribute_or_a_wrong_name_is_an_error() -> None:
    with pytest.raises(TypeError):
        Cause("a.b", passes=True)  # type: ignore[call-arg]  # that is what is tried
    for wrong in (
        {"restart": "pases"}, {"repeats_on": "gpu"}, {"kind": 7}, {"explains": ("rank-sigkilled",)},
        {"fix_of_rank": "look at {host}"},
    ):  # fmt: skip
        with pytest.raises((ValueError, KeyError)):
            Cause("a.b", **wrong)


@pytest.mark.parametrize("name", sorted(IDS))
def test_a_cause_has_one_page_and_its_files_id(name: str) -> None:
    assert cause(name).id == name
    both = [folder[name] for folder in (diagnose.modules(), monitor.rules()) if name in folder]
    assert sum(is_page(module.__doc__) for module in both) == 1
    assert catalogue.section(name, "What to do") == " ".join(
        diagnose.page(name).sections["What to do"].split()
    )
    assert sum("CAUSE" in vars(module) for module in both) <= 1


def test_what_an_unknown_or_no_cause_says_is_nothing() -> None:
    assert cause("no-such-cause") == Cause("no-such-cause") and cause("").restart == NEVER
    unproven = cause(causes.UNPROVEN)
    assert (unproven.restart, unproven.says_why, unproven.hearsay) == (AFTER_A_STEP, False, True)


def those(**values: object) -> set[str]:
    """The ids whose attributes have these values."""
    return {name for name in IDS if all(getattr(cause(name), key) == value for key, value in values.items())}


def test_what_each_kind_of_behaviour_is_declared_for() -> None:
    """Stated a second time, against a change that nobody meant."""
    assert those(restart=PASSES) == {
        "rank-sigkilled", "cpu-oom-killed", "rank-silent", "rank-holds-up", "no-progress",
        "collective-timeout-straggler", "nccl-remote-process-exited", "peer-node-network-broken",
        "gloo-connect-full-mesh", "ib-transport-error", "xid-gpu-fault", "dataloader-worker-killed",
        "nfs-stale-or-io-error", "rendezvous-timeout", "torchelastic-signal", "node-failure", "node-lost",
        "supervisor-lost", "lease-lost", "head-cut-off", "checkpoint-corrupt-resume-fail",
        "rendezvous-port-in-use", "rank-terminated", "nccl-error-unexplained",
    }  # fmt: skip
    assert those(restart=AFTER_A_STEP) == {"rank-crashed-first", "cuda-oom"}
    assert those(repeats_on="node") == {"cpu-oom-killed"}
    assert those(repeats_on="rank") == {
        "rank-sigkilled", "rank-terminated", "dataloader-worker-killed", "xid-gpu-fault",
    }  # fmt: skip
    assert those(hearsay=True) == {
        "benign-noise", "collective-timeout-straggler", "nccl-remote-process-exited", "gloo-connect-full-mesh",
        "peer-node-network-broken", "rendezvous-timeout", "torchelastic-signal", "ray-worker-died", "rank-terminated",
        "nccl-error-unexplained",
    }  # fmt: skip
    assert those(kind=BLAME) == {
        "collective-timeout-straggler", "nccl-remote-process-exited", "gloo-connect-full-mesh",
        "nccl-error-unexplained",
    }  # fmt: skip
    assert those(kind=END) == {
        "rank-crashed-first", "rank-sigkilled", "rank-exited-early", "rank-terminated", "ray-worker-died",
        "torchelastic-signal", "peer-node-network-broken", "rendezvous-timeout",
    }  # fmt: skip
    assert those(holds_after_the_end=True) == {"collective-timeout-straggler"}
    assert those(asks_ranks=True) == {"no-progress", "rank-exited-early", "rank-silent"}
    assert those(by_kill=True) == {"cpu-oom-killed", "rank-sigkilled"}
    assert those(of_one_end=True) == {
        "ib-transport-error", "gloo-connect-full-mesh", "peer-node-network-broken",
    }  # fmt: skip
    assert those(is_outage=True) == {
        "rank-silent", "nfs-stale-or-io-error", "peer-node-network-broken", "op-build-waits",
    }  # fmt: skip
    assert those(cannot_be_work=True) == {"rank-silent", "collective-mismatch"}
    assert those(is_hopeless=True) == {"collective-mismatch"}
    assert those(resets_gpu=True) == {"xid-gpu-fault"}
    assert those(healthy=True) == {"benign-noise"} == IDS - those(healthy=False)
    assert {name for name in IDS if cause(name).kernel} == {"xid-gpu-fault", "cpu-oom-killed"}
    assert {name for name in IDS if cause(name).fix_of_rank} == {
        "op-build-waits", "rank-silent", "nfs-stale-or-io-error", "collective-mismatch", "peer-node-network-broken",
        "collective-timeout-straggler",
    }  # fmt: skip
    assert cause("cuda-oom").kind == REASON


def test_whoever_asks_knows_the_detectors_too() -> None:
    """The monitor adds its folder when it is imported; the keeper's parts import it."""
    code = "from allranks.runs import keeper_{0} as k; assert k.known('node-lost').restart == 'passes'"
    for part in ("restart", "spares"):
        subprocess.run([sys.executable, "-c", code.format(part)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,7", [0, 1, 2, 3, 7]), ("5", [5]), ("x,2", [2]), ("3-x", []), ("4-2", []), ("", []), ("1-1", [1]),
        ("0-4095", list(range(4096))), ("0-9999999999", list(range(4096))), ("0-4094,9,9", [*range(4095), 9]),
    ],
)  # fmt: skip
def test_tasks_of_slurm_as_numbers(text, numbers):
    """4,096 at most, whatever a log says."""
    assert ends.numbers(text) == numbers
