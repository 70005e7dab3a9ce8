"""Where the ranks start, and what torchrun is told to start there: in a job and in every rendered script."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks import spec
from allranks.core import BadInput, Facts
from allranks.launch import jobs, scripts
from allranks.launch.jobs import NodePaths
from allranks.launch.launchers import deepspeed
from allranks.launch.scripts import _container
from allranks.plan import make_plan
from allranks.runs import inspection
from allranks.spec.launchers import names

HERE = "nodes: localhost\ngpus: {model: cpu}\n"
AWAY = "nodes: {a: 10.0.0.1, b: 10.0.0.2}\ngpus: 2\n"
CODE = "code: mine\n"
WORK = "/home/u/.allranks/runs/r/nodes/{}/work"
SHIPPED = "/home/u/.allranks/code/0a1b"


def load(text: str, folder: Path) -> spec.Run:
    return spec.loads(text, str(folder / "run.yaml"))


def job_of(run: spec.Run) -> tuple[list[str], str]:
    """What the head's torchrun starts, and where."""
    node = run.cluster.nodes[0]
    places = NodePaths("/home/u/.allranks", "b.zip", "python3", SHIPPED if run.code else None)
    job = jobs.node_job(run, make_plan(run), "r", node, places, 1, 0).job
    return job["argv"][job["argv"].index("--max-restarts=0") + 1 :], job["cwd"]


@pytest.mark.parametrize(
    ("where", "keys", "folder"),
    [
        (HERE, "save: {to: saves/x}", "{}/saves/x"),
        (HERE, "save: {to: ./saves/x}", "{}/saves/x"),
        (HERE, "save: {to: /nfs/x}", "/nfs/x"),
        (HERE, "save: {to: ~/x}", "/home/u/x"),
        (AWAY, "save: {to: saves/x}", "/home/u/saves/x"),
        (AWAY, "save: {to: ~/x}", "/home/u/x"),
    ],
)
def test_saves_are_in_one_place_whatever_folder_a_program_starts_in(where, keys, folder, tmp_path) -> None:
    """The keeper starts in `/`, and the ranks in a folder of the run."""
    text = where + keys + "\ntrain: {llamafactory: {model_name_or_path: m, dataset: d}}\n"
    assert output_of(load(text, tmp_path)) == folder.format(tmp_path) + "/r"


def test_saves_begin_at_the_ranks_folder_if_it_is_named(tmp_path) -> None:
    train = (
        "train: {workdir: /srv/lf, llamafactory: {model_name_or_path: m, dataset: d, output_dir: saves/x}}\n"
    )
    for where in (HERE, AWAY):
        assert output_of(load(where + train, tmp_path)) == "/srv/lf/saves/x/r"


def test_a_checkpoint_and_the_place_of_copies_are_found_in_the_same_way(tmp_path) -> None:
    text = HERE + "resume: saves/a/checkpoint-5\nsave: {copy_to: ~/copies}\ntrain: {command: [t.py]}\n"
    keep = whole_job(load(text, tmp_path))["keep"]
    assert (keep["resume"], keep["copy_to"]) == (f"{tmp_path}/saves/a/checkpoint-5", "/home/u/copies")


def whole_job(run: spec.Run) -> Mapping[str, Any]:
    places = NodePaths("/home/u/.allranks", "b.zip", "python3", user_home="/home/u")
    return jobs.node_job(run, make_plan(run), "r", run.cluster.nodes[0], places, 1, 0).job


def output_of(run: spec.Run) -> str:
    job = whole_job(run)
    assert job["keep"]["output_dir"] == job["env"]["ALLRANKS_OUTPUT_DIR"]
    return str(job["keep"]["output_dir"])


@pytest.mark.parametrize(
    ("where", "train", "words", "folder"),
    [
        # This machine: from the run file's folder.
        (HERE, "command: [sub/t.py, a]", ["{}/sub/t.py", "a"], "{}/sub"),
        (HERE, "command: python -m pkg.mod a", ["-m", "pkg.mod", "a"], "{}"),
        (HERE, "command: [/srv/gpt/t.py]", ["/srv/gpt/t.py"], "/srv/gpt"),
        (HERE, "command: [sub/t.py], workdir: data", ["{}/sub/t.py"], "{}/data"),
        (HERE, "command: [-m, pkg.mod], workdir: /srv/x", ["-m", "pkg.mod"], "/srv/x"),
        # Other machines: only what is a path there.
        (AWAY, "command: [/srv/gpt/t.py]", ["/srv/gpt/t.py"], "/srv/gpt"),
        (AWAY, "command: [~/gpt/t.py]", ["~/gpt/t.py"], "~/gpt"),
        (AWAY, "command: [t.py]", ["t.py"], WORK.format("a")),
        (AWAY, "command: [t.py], workdir: /srv/gpt", ["t.py"], "/srv/gpt"),
        (AWAY, "command: [-m, pkg.mod]", ["-m", "pkg.mod"], WORK.format("a")),
        # Shipped code, on this machine as on others.
        (HERE + CODE, "command: [t.py]", [f"{SHIPPED}/t.py"], SHIPPED),
        (AWAY + CODE, "command: [./sub/t.py]", [f"{SHIPPED}/sub/t.py"], f"{SHIPPED}/sub"),
        (HERE + CODE, "command: [-m, pkg.mod]", ["-m", "pkg.mod"], SHIPPED),
        (AWAY + CODE, "command: [-m, pkg.mod]", ["-m", "pkg.mod"], SHIPPED),
        (AWAY + CODE, "command: [sub/t.py], workdir: .", [f"{SHIPPED}/sub/t.py"], SHIPPED),
        (AWAY + CODE, "command: [t.py], workdir: /srv/x", [f"{SHIPPED}/t.py"], "/srv/x"),
        (AWAY + CODE, "command: [/srv/gpt/t.py]", ["/srv/gpt/t.py"], "/srv/gpt"),
    ],
)
def test_a_job_starts_its_script_in_its_folder(where, train, words, folder, tmp_path: Path) -> None:
    here = str(tmp_path)
    found = job_of(load(f"{where}train: {{{train}}}\n", tmp_path))
    assert found == ([word.replace("{}", here) for word in words], folder.replace("{}", here))


@pytest.mark.parametrize("more", ["", CODE])
def test_llamafactory_keeps_the_runs_own_folder_unless_one_is_named(more: str, tmp_path: Path) -> None:
    own = load(HERE + more + "train: {llamafactory: {stage: sft}}\n", tmp_path)
    assert job_of(own)[1] == WORK.format("localhost")
    named = load(HERE + more + "train: {llamafactory: {stage: sft}, workdir: /srv/x}\n", tmp_path)
    assert job_of(named)[1] == "/srv/x"


def test_a_relative_folder_must_begin_somewhere_on_the_nodes(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"run.yaml:3  train.workdir: data is relative"):
        load(AWAY + "train: {command: [/srv/t.py], workdir: data}\n", tmp_path)
    assert load(AWAY + CODE + "train: {command: [t.py], workdir: data}\n", tmp_path).train.workdir == "data"


def rendered(target: str, run: spec.Run) -> dict[str, str]:
    return {name: file.text for name, file in scripts.render(target, run, make_plan(run), "python3").items()}


TARGETS = [target for target in names() if target not in ("ansible", "kubernetes")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("where", "train", "words", "folder"),
    [
        (AWAY, "command: python -m pkg.mod a, workdir: /srv/x", "  -m\n  pkg.mod\n  a\n", "/srv/x"),
        (AWAY, "command: [/srv/gpt/t.py]", "  /srv/gpt/t.py\n", "/srv/gpt"),
        (AWAY, "command: [~/gpt/t.py]", '  "$HOME"/gpt/t.py\n', '"$HOME"/gpt'),
        (AWAY + "code: /srv/c\n", "command: [-m, pkg.mod]", "  -m\n  pkg.mod\n", "/srv/c"),
        (AWAY + "code: /srv/c\n", "command: [sub/t.py]", "  /srv/c/sub/t.py\n", "/srv/c/sub"),
        (AWAY, "llamafactory: {stage: sft}, workdir: /srv/x", "  -m\n  llamafactory.launcher\n", "/srv/x"),
    ],
)
def test_rendered_scripts_start_there_too(target, where, train, words, folder, tmp_path: Path) -> None:
    files = rendered(target, load(f"{where}train: {{{train}}}\n", tmp_path))
    assert f"arguments=(\n{words}" in files["arguments.sh"]
    assert f"cd -- {folder} || exit 2\n" in files["common.sh"]


def test_a_rendered_module_of_this_machine_starts_in_the_run_files_folder(tmp_path: Path) -> None:
    files = rendered("torchrun", load(HERE + "train: {command: python -m pkg.mod}\n", tmp_path))
    assert "arguments=(\n  -m\n  pkg.mod\n)" in files["arguments.sh"]
    assert f"cd -- {tmp_path} || exit 2\n" in files["common.sh"]


@pytest.mark.parametrize(
    ("mounts", "code", "found"),
    [
        ((), "/home/me/code", ["/home/me/code:/home/me/code"]),
        (("/home/me:/home/me",), "/home/me/code", ["/home/me:/home/me"]),
        (("/home/me",), "/home/me/code", ["/home/me"]),
        (("/data:/data:ro",), "/data-2/code", ["/data:/data:ro", "/data-2/code:/data-2/code"]),
        (("/data",), None, ["/data"]),
    ],
)
def test_a_rendered_container_has_the_folder_of_the_code(
    mounts: tuple[str, ...], code: str | None, found: list[str]
) -> None:
    job = SimpleNamespace(run=SimpleNamespace(code=code))
    assert _container.mounts(job, SimpleNamespace(mounts=mounts)) == found  # type: ignore[arg-type]  # stand-ins


def test_a_python_below_the_home_folder_is_found_wherever_it_is_started(tmp_path: Path) -> None:
    """Neither a kernel nor a quoted word of a shell expands `~`."""
    facts = Facts("a", 0.0, {"software": {"python": {"executable": "/home/u/env/bin/python"}}})
    assert inspection.at_home("~/env/bin/python", facts) == "/home/u/env/bin/python"
    assert inspection.at_home("/opt/python", facts) == "/opt/python"
    assert inspection.at_home("~/python", Facts("a", 0.0, {})) == "~/python"
    (tmp_path / "my env").mkdir()
    (tmp_path / "my env" / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "my env" / "python").chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", deepspeed.AT_HOME, "sh", "~/my env/python", "-m", "a b"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "-m a b\n"
