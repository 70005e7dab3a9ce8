"""The rendered files of two runs, whole: a change to them is seen in review.

`ALLRANKS_GOLDEN=write pytest tests/launch/test_scripts_golden.py` writes them again.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from allranks import spec
from allranks.launch import scripts
from allranks.plan import Plan, make_plan
from allranks.spec import Run
from allranks.spec.launchers import names

AS_TORCHRUN = ("ssh", "local")
GOLDEN = Path(__file__).parent / "golden"

SEEDS_ENVIRONMENT = {"all": {"OMP_NUM_THREADS": "1", "NCCL_SOCKET_IFNAME": "=eth0"}, "nodes": {}}
SEEDS_DEEPSPEED = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}


@pytest.fixture(scope="module")
def seeds(root: Path) -> tuple[Run, Plan]:
    """The seeds' run. What the planner decides has tests of its own; here it is held still."""
    run = replace(spec.load(str(root / "examples" / "deepseek-v3-24xa100.yaml")), file=None)
    plan = make_plan(run)
    return run, replace(plan, trainer={}, environment=SEEDS_ENVIRONMENT, deepspeed=SEEDS_DEEPSPEED)


@pytest.mark.parametrize("which", ["seeds", "hostile"])
@pytest.mark.parametrize("target", [name for name in names() if name not in AS_TORCHRUN])
def test_the_files_are_the_golden_ones(seeds, hostile_run, target: str, which: str) -> None:
    run, plan = seeds
    if which == "hostile":
        run = hostile_run(target)
        plan = make_plan(run)
    elif target == "kubernetes" and run.container is not None:  # its pods start no pip
        run = replace(run, container=replace(run.container, pip=()))
    python = run.environment.python or "python3"
    files = scripts.render(target, run, plan, python)
    golden = GOLDEN / which / target
    if os.environ.get("ALLRANKS_GOLDEN") == "write":
        for old in golden.glob("*") if golden.is_dir() else []:
            old.unlink()
        scripts.write(files, golden)
    assert sorted(path.name for path in golden.iterdir()) == sorted(files)
    for name, file in files.items():
        path = golden / name
        assert path.read_bytes() == file.text.encode("utf-8"), name
        assert bool(stat.S_IMODE(path.stat().st_mode) & 0o100) == bool(file.mode & 0o100), name


@pytest.mark.parametrize("target", AS_TORCHRUN)
def test_a_start_by_our_own_connections_is_rendered_as_torchruns_scripts(hostile_run, target: str) -> None:
    run = hostile_run(target)
    plan = make_plan(run)
    assert scripts.render(target, run, plan, "python3") == scripts.render("torchrun", run, plan, "python3")


def test_rendering_twice_is_the_same(hostile_run) -> None:
    run = hostile_run("slurm")
    plan = make_plan(run)
    assert scripts.render("slurm", run, plan, "python3") == scripts.render("slurm", run, plan, "python3")
