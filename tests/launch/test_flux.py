"""Flux: the words are documented options, each task finds its node's script, and its errors name what failed."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from allranks import spec
from allranks.core import BadInput
from allranks.launch import scripts, starting
from allranks.launch.launchers import flux
from allranks.launch.starting import Start
from allranks.plan import make_plan

DOCUMENTED = {
    "nodes": int,
    "ntasks": int,
    "exclusive": bool,
    "requires": str,
    "setopt": str,
    "queue": str,
    "bank": str,
    "time-limit": str,
    "job-name": str,
    "label-io": bool,
}
"""The long options of flux-run(1), flux-core 0.88, that are used here, and what they take."""

SHELL_OPTIONS = {"cpu-affinity", "gpu-affinity", "exit-timeout", "exit-on-error"}
"""The keys of --setopt there."""

FILE = "name: lora\nnodes: [host-a, host-b]\ntrain: {command: [x.py]}\n"


def start(more: str = "launch: {with: flux}\n", folder: str = "/h/runs/r/engine") -> Start:
    run = spec.loads(FILE + more)
    scripts = {node.name: f"{folder}/{node.rank}.sh" for node in run.cluster.nodes}
    return starting.starting(run, make_plan(run, None, {}), scripts)


def parsed(words: list[str]) -> argparse.Namespace:
    """As `flux run` reads them: options, then the command."""
    parser = argparse.ArgumentParser(prog="flux run", allow_abbrev=False, exit_on_error=False)
    for name, kind in DOCUMENTED.items():
        if kind is bool:
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=kind, action="append")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    assert words[:2] == ["flux", "run"]
    return parser.parse_args(words[2:])


def test_the_job_is_one_task_a_node_on_the_named_nodes_whole() -> None:
    more = "launch: {with: flux, partition: gpu, account: lab, time: '1:30:00'}\n"
    asked = parsed(flux.flux_run(start(more)))
    assert (asked.nodes, asked.ntasks, asked.exclusive) == ([2], [2], True)
    assert (asked.queue, asked.bank, asked.time_limit, asked.job_name) == (
        ["gpu"],
        ["lab"],
        ["5400s"],
        ["lora"],
    )
    assert asked.requires == ["host:host-a,host-b"]
    assert {option.partition("=")[0] for option in asked.setopt} <= SHELL_OPTIONS
    assert asked.command[:2] == ["sh", "-c"] and asked.command[-2:] == ["host-a", "host-b"]


def test_without_a_queue_or_limit_none_is_asked_for_and_extra_comes_before_the_command() -> None:
    asked = parsed(
        flux.flux_run(start("launch: {with: flux, time: UNLIMITED, extra: [--setopt=verbose=1]}\n"))
    )
    assert (asked.queue, asked.bank, asked.time_limit) == (None, None, None)
    assert asked.setopt[-1] == "verbose=1"


@pytest.mark.parametrize(("host", "place"), [("host-a", 0), ("host-b", 1), ("host-b.cluster.example", 1)])
def test_each_task_starts_the_script_of_its_own_node(tmp_path: Path, host: str, place: int) -> None:
    done = task(tmp_path, host)
    assert (done.returncode, done.stdout) == (0, f"script {place}\n")


@pytest.mark.parametrize("host", ["host", "host-ab", "other"])
def test_a_machine_that_is_not_of_the_run_starts_nothing(tmp_path: Path, host: str) -> None:
    done = task(tmp_path, host)
    assert done.returncode == 1 and done.stdout == ""
    finding = starting.failure(flux.LAUNCHER, done.stderr.splitlines(), start().nodes, 1)
    assert "Flux has no such nodes" in finding.saw


def task(tmp_path: Path, host: str) -> subprocess.CompletedProcess[str]:
    for place in (0, 1):
        (tmp_path / f"{place}.sh").write_text(f"echo script {place}\n")
    program(tmp_path, "hostname", f"echo {host}")
    words = parsed(flux.flux_run(start(folder=str(tmp_path)))).command
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def begin(tmp_path: Path, flux_does: str) -> subprocess.CompletedProcess[str]:
    """The command as the head runs it, with a stand-in for flux."""
    folder = tmp_path / "runs" / "r"
    (folder / "engine").mkdir(parents=True)
    (folder / "nodes" / "host-a").mkdir(parents=True)
    program(tmp_path, "flux", flux_does)
    words = flux.command(start("launch: {with: flux}\nsecrets: [TOKEN]\n", str(folder / "engine")))
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TOKEN": "secret"}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.lengthy
def test_the_job_goes_on_by_itself_and_gets_no_secret(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r"
    done = begin(
        tmp_path,
        f'echo "token=$TOKEN"; touch {folder}/nodes/host-a/supervisor.json\n'
        f"until [ -e {folder}/end ]; do sleep 0.05; done; touch {folder}/ended",
    )
    assert done.returncode == 0
    (folder / "end").touch()
    deadline = time.monotonic() + 60
    while not (folder / "ended").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (folder / "ended").exists(), "it outlives the command"
    assert (folder / "engine.log").read_text() == "token=\n"


@pytest.mark.lengthy
def test_what_flux_refuses_is_said(tmp_path: Path) -> None:
    done = begin(tmp_path, 'echo "flux-run: ERROR: [Errno 22] unsatisfiable request" >&2; exit 1')
    assert done.returncode == 1
    finding = starting.failure(flux.LAUNCHER, done.stdout.splitlines(), start().nodes, 1)
    assert finding.id == "engine-failed" and "no such nodes" in finding.saw


def test_a_rendered_job_ends_when_one_node_fails_and_a_run_is_left_to_its_supervisors() -> None:
    run = spec.loads(FILE)
    rendered = scripts.render("flux", run, make_plan(run, None, {}), "python3")["flux.sh"].text
    assert "--setopt=exit-on-error" in rendered
    assert "--setopt=exit-on-error" not in flux.flux_run(start())


def test_homes_that_differ_are_refused() -> None:
    one = start()
    with pytest.raises(BadInput, match="differ"):
        flux.command(replace(one, scripts={"host-a": "/x/engine/0.sh", "host-b": "/y/engine/1.sh"}))


@pytest.mark.parametrize(
    ("variables", "here"),
    [({}, False), ({"FLUX_URI": "local:///run/flux/local"}, True), ({"FLUX_URI": ""}, False)],
)
def test_in_an_allocation_the_job_is_started_from_here(variables: dict[str, str], here: bool) -> None:
    assert flux.allocation(variables) is here
