"""Apptainer's images of `docker://…`, with a program in the place of apptainer: built once, whole or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from allranks.core import BadInput, Facts, Node
from allranks.node import apptainer_image
from allranks.node.paths import RunDirectory, write_json
from allranks.prepare import containers, images, readiness
from allranks.prepare.failures import NotReady
from allranks.spec import load
from allranks.transport import NodeProgram, Nodes
from allranks.transport.local import LocalTransport

REFERENCE = "docker://hiyouga/llamafactory:0.9.5"

APPTAINER = """#!/bin/sh
echo "$*" >> {0}/called
case "$1 $2" in
  pull*) printf half > "$2"; [ -e {0}/refuses ] && {{ echo "FATAL: no such manifest" >&2; exit 255; }}
         [ -e {0}/slow ] && sleep 0.1; printf 'SIF of %s' "$3" > "$2";;
  "instance list") [ -e {0}/instance ] && printf '{{"instances": [{{"instance": "%s"}}]}}' "$(cat {0}/instance)" \\
         || echo '{{"instances": []}}';;
  "instance start") for last; do :; done; echo "$last" > {0}/instance;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in; `called` has what it was called with."""
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "apptainer").write_text(APPTAINER.format(folder))
    (folder / "apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def calls(engine: Path) -> list[str]:
    return (engine / "called").read_text().splitlines() if (engine / "called").exists() else []


class Here:
    """A node that answers from this process."""

    node = "n1"

    async def call(self, verb: str, stdin: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
        assert verb == "image"
        return apptainer_image.answer(stdin)


def built(asked: str) -> images.Image:
    return asyncio.run(images.built(Here(), asked))  # type: ignore[arg-type]


def test_it_is_built_once_and_lies_where_containers_cannot_write(engine: Path, home: Path) -> None:
    first, second = built("hiyouga/llamafactory:0.9.5"), built(REFERENCE)
    assert first.reference == second.reference and first.identity == second.identity
    assert Path(first.reference).read_text() == f"SIF of {REFERENCE}"
    assert Path(first.reference).parent == home / "images"
    assert calls(engine) == [f"pull {first.reference}.draft {REFERENCE}"]
    Path(first.reference).write_text("cut")
    assert built(REFERENCE).identity == first.identity and len(calls(engine)) == 2


def test_a_file_is_used_as_it_is(engine: Path) -> None:
    assert built("/nfs/a.sif") == images.Image("/nfs/a.sif", "/nfs/a.sif", "/nfs/a.sif")
    assert calls(engine) == []


def test_apptainers_own_reason_is_told_and_nothing_is_left(engine: Path, home: Path) -> None:
    (engine / "refuses").touch()
    with pytest.raises(NotReady, match="FATAL: no such manifest") as refused:
        built(REFERENCE)
    assert refused.value.findings[0].id == "image-not-pulled"
    (engine / "apptainer").unlink()
    with pytest.raises(NotReady, match="there is no program apptainer on the path"):
        built(REFERENCE)
    assert [path.suffix for path in (home / "images").iterdir()] == [".lock"]


def test_nodes_that_share_a_home_build_once(engine: Path) -> None:
    (engine / "slow").touch()
    told: list[bool] = []
    work = [
        threading.Thread(
            target=lambda: told.append(apptainer_image.answer({"reference": REFERENCE})["built"])
        )
        for _ in range(4)
    ]
    for one in work:
        one.start()
    for one in work:
        one.join()
    assert sorted(told) == [False, False, False, True] and len(calls(engine)) == 1


@pytest.mark.parametrize("reference", ["--help", "docker://-x", "docker://a b", "/a.sif", "docker://a;b", ""])
def test_what_is_no_reference_starts_nothing(engine: Path, reference: str) -> None:
    with pytest.raises(BadInput):
        apptainer_image.answer({"reference": reference})
    assert calls(engine) == []


def test_clean_removes_those_that_no_run_names(engine: Path, home: Path, tmp_path: Path) -> None:
    mine, other, fresh = (
        Path(built(f"docker://site/{name}").reference) for name in ("mine", "other", "fresh")
    )
    for image in (mine, other):
        os.utime(f"{image}.json", (1, 1))
    directory = RunDirectory("x-0101-aaaa")
    directory.create(node="n1")
    write_json(f"{directory.root}/nodes/n1/container.json", {"reference": str(other)})
    (home / "images" / "somebodys.sif").write_text("mine")
    (home / "images" / "somebodys.sif.json").write_text(json.dumps({"reference": "docker://site/x"}))
    os.utime(home / "images" / "somebodys.sif.json", (1, 1))
    assert apptainer_image.unused("x-0101-aaaa") == sorted([str(mine), str(other)])
    assert apptainer_image.remove_unused() == [str(mine)]
    assert (
        not mine.exists()
        and other.exists()
        and fresh.exists()
        and (home / "images" / "somebodys.sif").exists()
    )


@pytest.mark.lengthy
def test_the_instance_is_started_from_the_built_image(engine: Path, home: Path, tmp_path: Path) -> None:
    """Over the node program, as on another machine."""
    import sys

    file = tmp_path / "run.yaml"
    file.write_text(
        f"nodes: localhost\ncontainer: {{engine: apptainer, image: '{REFERENCE}'}}\ntrain: {{command: [/train.py]}}\n"
    )
    run = load(str(file))
    node: Node = run.cluster.head
    nodes = Nodes({node.name: NodeProgram(LocalTransport(node.name), sys.executable)}, {node.name: node})
    facts = {node.name: Facts(node.name, 0.0, {"system": {"allranks_home": str(home), "user": {"uid": 0}}})}
    prepared, said = readiness.Prepared(nodes), []
    work = readiness.make_containers(
        prepared, run, facts, "x-0101-aaaa", lambda node, what: said.append(what)
    )
    asyncio.run(work)
    made = prepared.containers[node.name]
    assert made.image == REFERENCE and Path(made.reference).read_text() == f"SIF of {REFERENCE}"
    started = next(line for line in calls(engine) if line.startswith("instance start"))
    assert started.endswith(f"{made.reference} {made.name}") and f"apptainer pull {REFERENCE}" in said
    base = made.name.rpartition("-")[0]
    assert made.container == made.name == containers.instance_name(base, "x-0101-aaaa")
    assert made.name != containers.instance_name(base, "x-0102-bbbb"), "what cleans one run ends no other's"
