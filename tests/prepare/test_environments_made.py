"""Environments without a container: activated by a script, built from a lock file, with code shipped to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.node import upload
from allranks.prepare import environment
from allranks.prepare.failures import NotReady
from allranks.spec import Environment, loads
from allranks.transport import NodeProgram
from allranks.transport.local import LocalTransport
from tests.prepare.wheels import packages, write_wheel

RUN = loads("nodes: localhost\ntrain: {command: [train.py]}\n")
SECRET = "a-key-that-is-nowhere"
LOOP = Path(__file__).resolve().parents[1] / "runs" / "scripts" / "loop.py"

MODULES = """
module() {
  [ "$2" = broken/1 ] && { echo "no such module: $2" >&2; return 1; }
  [ "$2" = silent/1 ] && return 0
  export LOADEDMODULES="$LOADEDMODULES:$2" CUDA_HOME="/opt/$2"
  echo "loaded $2"
}
export LOADEDMODULES=
"""


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder whose login shell has a `module` function, as sites have it from /etc/profile.d."""
    (tmp_path / ".bash_profile").write_text(MODULES)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def activate(
    modules: tuple[str, ...] = (), script: str | None = None, python: str = "python3"
) -> environment.Activated:
    run = replace(RUN, environment=Environment(modules=modules, activate=script))
    return asyncio.run(environment.activate(NodeProgram(LocalTransport("here")), run, python))


def test_modules_and_script_are_told_as_variables(login: Path) -> None:
    script = login / "act ivate.sh"
    script.write_text("echo hello\nexport MINE=$'two\\nlines' PATH=/nowhere:$PATH\ncd /\nunset NOT_THERE\n")
    found = activate(("cuda/12", "gcc/9"), str(script))
    assert found.variables["MINE"] == "two\nlines"
    assert found.variables["CUDA_HOME"] == "/opt/gcc/9"
    assert found.variables["PATH"].startswith("/nowhere:")
    assert "PWD" not in found.variables and "HOME" not in found.variables
    assert Path(found.python).name == "python3"


def test_what_looks_like_a_secret_is_kept_apart() -> None:
    there = {"MY_API_KEY": SECRET, "USE_KEY": "1", "CUDA_HOME": "/opt/cuda", "HF_TOKEN": "of-the-cluster"}
    by_form = {"CREDENTIAL": "hf_" + "a" * 30}
    found = environment.Activated("python3", {**there, **by_form})
    assert found.plain(["HF_TOKEN"]) == {"USE_KEY": "1", "CUDA_HOME": "/opt/cuda"}
    assert found.hidden(["HF_TOKEN"]) == {"MY_API_KEY": SECRET, **by_form}
    assert found.hidden([])["HF_TOKEN"] == "of-the-cluster"


def test_a_python_in_the_home_is_found_after_activation(login: Path) -> None:
    (login / "venv" / "bin").mkdir(parents=True)
    (login / "venv" / "bin" / "python").symlink_to(sys.executable)
    assert activate(("cuda/12",), python="~/venv/bin/python").python == str(login / "venv/bin/python")


@pytest.mark.parametrize("python", ["~/no/python", "/no/python", "no-such-python"])
def test_a_failed_activation_never_shows_the_nodes_environment(login: Path, monkeypatch, python: str) -> None:
    """Its variables are on standard output, in base64, where no redactor finds a secret."""
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with pytest.raises(NotReady) as refused:
        activate(("cuda/12",), python=python)
    (finding,) = refused.value.findings
    assert "there is no " in finding.saw and finding.saw.endswith("python" if "/" in python else python)
    assert len(finding.saw) < 200


def test_a_hostile_name_is_a_word_and_no_command(login: Path) -> None:
    with pytest.raises(NotReady):
        activate(script=f"/x; touch {login}/harm")
    assert not (login / "harm").exists()


@pytest.mark.parametrize(
    ("module", "says"), [("broken/1", "no such module"), ("silent/1", "left no such module")]
)
def test_a_module_that_is_not_there_is_named(login: Path, module: str, says: str) -> None:
    with pytest.raises(NotReady) as caught:
        activate(("cuda/12", module))
    (finding,) = caught.value.findings
    assert finding.id == "activation-failed" and says in finding.saw


def test_a_script_gets_no_arguments(login: Path) -> None:
    """conda's `activate` would take the modules for its own environments."""
    script = login / "activate"
    script.write_text('export GIVEN="$#:$*"\n')
    assert activate(("cuda/12",), str(script)).variables["GIVEN"] == "0:"


def test_a_module_that_the_login_loads_reaches_the_ranks(login: Path) -> None:
    (login / ".bash_profile").write_text(MODULES + "module load cuda/12\nexport OF_LOGIN=1\n")
    found = activate(("cuda/12",)).variables
    assert (found["CUDA_HOME"], found["OF_LOGIN"]) == ("/opt/cuda/12", "1")
    assert "OF_LOGIN" not in activate(("gcc/9",)).variables


@pytest.mark.parametrize(
    ("after", "refused"),
    [
        ({"LOADEDMODULES": "gcc/12.3.0"}, False),
        ({"LOADEDMODULES": "gcc/9.1"}, True),
        ({"LOADEDMODULES": "gcc/9.1", "LMOD_VERSION": "8.7"}, False),
        ({"LOADEDMODULES": "gcc/9.1", "MODULES_CMD": "/usr/lib/modulecmd.tcl"}, False),
        ({}, False),
    ],
)
def test_only_old_module_systems_are_asked_what_they_loaded(after: dict[str, str], refused: bool) -> None:
    run = replace(RUN, environment=Environment(modules=("gcc/12",)))
    with pytest.raises(NotReady) if refused else contextlib.nullcontext():
        environment.refuse_unloaded("here", run, after)


@pytest.mark.parametrize(
    ("python", "variables", "path"),
    [
        (
            "/opt/conda/envs/train/bin/python",
            {"PATH": "/apps/cuda/bin:/usr/bin"},
            "/opt/conda/envs/train/bin:",
        ),
        ("/opt/conda/envs/train/bin/python", {}, None),
        ("python3", {"PATH": "/apps/cuda/bin"}, "/apps"),
        ("/usr/bin/python3.10", {"PATH": "/opt/gcc-12/bin:/usr/bin"}, "/opt/gcc-12/bin:"),
    ],
)
def test_the_environments_own_programs_come_before_those_of_modules(python, variables, path) -> None:
    found = environment.Activated(python, variables).with_own_programs().variables.get("PATH")
    assert found is path is None or str(found).startswith(str(path))


def test_packages_that_are_only_visible_elsewhere_are_built_in(
    tmp_path: Path, home: Path, monkeypatch
) -> None:
    (tmp_path / "seen" / "foopkg-1.0.dist-info").mkdir(parents=True)
    (tmp_path / "seen" / "foopkg-1.0.dist-info" / "METADATA").write_text("Name: foopkg\nVersion: 1.0\n")
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "seen"))
    wanted = {"python": sys.executable, "lock": "foopkg==1.0\n", "wheels": str(tmp_path / "wheels")}
    assert upload.environment(wanted)["step"] == "pip", "pip says that it is satisfied"


def run_allranks(*words: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "allranks.cli", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=500)


@pytest.mark.training
def test_a_run_in_an_environment_built_offline_with_shipped_code(tmp_path: Path, home: Path) -> None:
    behind = {"behind.pth": "\n".join([*packages(), ""]), "behind.py": ""}
    write_wheel(tmp_path / "wheels", "behind", "1.0", behind)
    (tmp_path / "requirements.lock").write_text("behind==1.0\n")
    mine = tmp_path / "mine"
    (mine / "src").mkdir(parents=True)
    (mine / "train.py").write_text("import of_mine\n" + LOOP.read_text())
    (mine / "src" / "of_mine.py").write_text(
        "import os, sys\nprint('MINE', sys.prefix, os.environ['ACTIVATED'])\nprint(len(os.environ['MY_API_KEY']))\n"
    )
    (tmp_path / "activate.sh").write_text(f"export ACTIVATED=by-script MY_API_KEY={SECRET}\n")
    made = {
        "lock": "requirements.lock",
        "wheels": str(tmp_path / "wheels"),
        "activate": str(tmp_path / "activate.sh"),
        "python": os.path.realpath(sys.executable),
    }
    keys = {
        "name": "made",
        "nodes": "node[1-2]",
        "same_host": True,
        "gpus": {"count": 1, "model": "cpu"},
        "code": "mine",
        "environment": made,
        "train": {"command": ["train.py", "--steps", "3"]},
    }
    (tmp_path / "run.yaml").write_text(json.dumps(keys))
    done = run_allranks("run", tmp_path / "run.yaml", "--json")
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-2000:])
    run = json.loads(done.stdout)["runs"][0]
    assert run["state"] == "succeeded"
    logs = run_allranks("logs", run["id"]).stdout
    environments = list((home / "environments").glob("*/.allranks-ready"))
    assert len(environments) == 1
    for where in ("(node1, 0)", "(node2, 1)"):
        assert f"{where} MINE {environments[0].parent} by-script" in logs

    assert f", 0) {len(SECRET)}\n" in logs
    written = [path for path in (home / "runs" / run["id"]).rglob("*") if path.is_file()]
    assert any(path.name == "job.json" for path in written)
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []

    (tmp_path / "requirements.lock").write_text("behind==2.0\n")
    done = run_allranks("run", tmp_path / "run.yaml", "--json")
    found = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "environment-not-built"]
    assert done.returncode == 1 and "behind==2.0" in found[0]["saw"]
