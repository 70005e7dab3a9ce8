"""What the tests of rendered scripts share: a hostile run, and stand-ins for what the scripts start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Cluster, Node
from allranks.plan import Plan, make_plan
from allranks.spec import Container, Environment, Launch, Run, Save, Train
from tests.harness.stand_ins import StandIns

NASTY = (
    "",
    " ",
    "two words",
    "a,b;c|d&e",
    "it's",
    'say "hi"',
    "$HOME ${IFS} $(id) `id`",
    "line 1\nline 2\n",
    "\ttab\\back\\",
    "-x",
    "--launcher=evil",
    "~/x ~root {a,b} [a-z]* ?",
    "ü→漢\N{ZERO WIDTH SPACE}\N{LINE SEPARATOR}😀",
    "%n %h %u %%",
    "!! #comment",
    "a=b",
    "}}{{ 7*7 }}{% raw %}",
    "\x01\x1b[31m\x7f",
    "</script>'\"><",
)
"""Values that mean something to a shell, to pdsh, to YAML, to a template or to a terminal."""


@pytest.fixture
def stage(tmp_path: Path) -> StandIns:
    return StandIns(tmp_path)


@pytest.fixture(scope="module")
def module_stage(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    return StandIns(tmp_path_factory.mktemp("stage"))


NODES = (Node("alpha", "10.0.0.1", 0, gpus=2), Node("beta", "10.0.0.2", 1, gpus=2))


def plan_of(run: Run) -> Plan:
    return make_plan(run)


def make_run(
    arguments: Any = (),
    env: Mapping[str, str] | None = None,
    own: Mapping[str, str] | None = None,
    nodes: tuple[Node, ...] = NODES,
    launch: str = "ssh",
    **more: Any,
) -> Run:
    """A run of two nodes; `own` are the second node's variables."""
    if own:
        nodes = (nodes[0], replace(nodes[1], env=tuple(own.items())))
    return Run(
        name="hostile",
        cluster=Cluster(nodes),
        train=Train("command", command=("train.py", *arguments)),
        env=dict(env or {}),
        launch=Launch(with_=launch),
        **more,
    )


@pytest.fixture(scope="session")
def make() -> Callable[..., Run]:
    return make_run


def hostile(target: str) -> Run:
    """The run of the golden files: everything that a target can be given, each value nasty."""
    own = {} if target in ("slurm", "kubernetes") else {"ONE_NODE": "only 'beta'\n$HOME"}
    env = {f"V{place}": value for place, value in enumerate(NASTY)}
    run = make_run(
        NASTY,
        env,
        own,
        environment=Environment(
            python="/shared/my env/bin/python", modules=("cuda/12.1",), activate="~/it's.sh"
        ),
        code="/srv/the code",
        save=Save(to="/out put/$x", every=5, copy_to="/nfs"),
        secrets=("HF_TOKEN",),
        user="some.one",
        resume="auto",
    )
    if target == "slurm":
        launch = Launch(
            "slurm", partition="gpu", account="lab", time="1-00:00:00", extra=("--comment=two words",)
        )
        run = replace(run, launch=launch, sweep={"lr": (1e-5, 5e-5), "note": ("it's", "a\nb")})
    if target == "kubernetes":
        container = Container(
            "docker", "org/image@sha256:00", mounts=("/nfs:/nfs:ro", "/a {{ 7*7 }}:/out put")
        )
        run = replace(run, container=container, environment=Environment(python="/shared/my env/bin/python"))
    if target == "ansible":
        pip = ("numpy<3", "odd @ https://example.org/{{ lookup('pipe','id') }}.whl")
        mounts = ("/nfs:/nfs:ro", "/a {{ 7*7 }}:/b")
        container = Container("docker", "org/image@sha256:00", mounts=mounts, pip=pip)
        run = replace(run, container=container)
    return run


@pytest.fixture(scope="session")
def hostile_run() -> Callable[[str], Run]:
    return hostile


def need(program: str) -> None:
    """A missing program skips a test at a desk and fails it in CI, where scripts/system.sh installs it."""
    if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
        return
    if os.environ.get("CI"):
        pytest.fail(f"{program} is not installed: scripts/system.sh", pytrace=False)
    pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="session")
def needs() -> Callable[[str], None]:
    return need


@pytest.fixture(scope="session")
def nasty() -> tuple[str, ...]:
    return NASTY
