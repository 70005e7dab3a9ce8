"""`environment.conda`: the environment of that name is found on the node, without conda."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from allranks.core import BadInput, Node
from allranks.node import conda
from allranks.prepare import environment
from allranks.spec import loads
from allranks.transport import reached

FILE = "nodes: localhost\ntrain: {command: [train.py]}\n"


def made(prefix: Path, is_base: bool = False) -> Path:
    """An environment as conda leaves it, as far as it is looked at."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    for name in ("python", *(["conda"] if is_base else [])):
        (prefix / "bin" / name).write_text("#!/bin/sh\n")
        (prefix / "bin" / name).chmod(0o755)
    return prefix


@pytest.fixture
def there(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with an installation, an environment in it, and one that only the list knows."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(conda, "ROOTS", ("miniforge3",))
    for name in ("CONDA_EXE", "CONDA_ENVS_PATH", "CONDA_ENVS_DIRS", "MAMBA_ROOT_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    base = made(tmp_path / "miniforge3", is_base=True)
    made(base / "envs" / "sft")
    far = made(tmp_path / "shared" / "far")
    (tmp_path / ".conda").mkdir()
    (tmp_path / ".conda" / "environments.txt").write_text(
        f"{base}\n{base}/envs/sft\n{far}\n/gone/away\nrelative\n"
    )
    return tmp_path


def python(name: str) -> str:
    return conda.answer({"name": name})["python"]


def test_an_environment_is_found_by_its_name(there: Path) -> None:
    assert python("sft") == f"{there}/miniforge3/envs/sft/bin/python"
    assert python("far") == f"{there}/shared/far/bin/python"
    assert python("base") == f"{there}/miniforge3/bin/python"
    (there / ".conda" / "environments.txt").unlink()
    assert python("sft") == f"{there}/miniforge3/envs/sft/bin/python"


@pytest.mark.parametrize("name", ["away", "miniforge3", "", "../sft", "relative"])
def test_one_that_is_not_there_is_an_error_with_those_that_are(there: Path, name: str) -> None:
    with pytest.raises(BadInput, match="there are: base, far, sft"):
        python(name)


def test_two_of_one_name_are_not_chosen_from(there: Path) -> None:
    made(there / "other" / "sft")
    with (there / ".conda" / "environments.txt").open("a") as file:
        file.write(f"{there}/other/sft\n")
    with pytest.raises(BadInput, match="2 conda environments are named sft") as raised:
        python("sft")
    assert "bin/python" in raised.value.problems[0].do


def test_a_folder_without_a_python_is_no_environment(there: Path) -> None:
    (there / "shared" / "far" / "bin" / "python").unlink()
    with pytest.raises(BadInput, match="there are: base, sft"):
        python("far")


# ---- in a run ----


def activated(name: str):
    run = loads(f"{FILE}environment: {{conda: {name}}}\n")
    nodes = reached([Node("here", "127.0.0.1", 0)], "local")
    return asyncio.run(environment.activate_all(nodes, run, "python3"))


def test_the_ranks_get_its_python_and_know_where_they_are(there: Path) -> None:
    found, findings = activated("sft")
    prefix = f"{there}/miniforge3/envs/sft"
    assert (found["here"].python, findings) == (f"{prefix}/bin/python", [])
    assert found["here"].variables == {"CONDA_PREFIX": prefix, "CONDA_DEFAULT_ENV": "sft"}


def test_a_node_without_it_is_a_finding_that_blocks(there: Path) -> None:
    found, (finding,) = activated("nosuch")
    assert found == {} and (finding.id, finding.verdict, finding.where.node) == (
        "conda-environment",
        "block",
        "here",
    )
    assert "no conda environment is named nosuch; there are: base, far, sft" in finding.saw


@pytest.mark.parametrize(
    "text",
    [
        "environment: {conda: sft, python: python3}",
        "environment: {conda: sft, lock: requirements.txt}",
        "environment: {conda: sft}\ncontainer: {image: 'x:1'}",
        "environment: {conda: '../x'}",
        "environment: {conda: ''}",
        "environment: {conda: -x}",
        "environment: {conda: sft}\nlaunch: {with: deepspeed}",
        "environment: {conda: sft}\nlaunch: {with: ray}",
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="conda"):
        loads(f"nodes: n[1-2]\ntrain: {{command: [/s/train.py]}}\n{text}\n")
