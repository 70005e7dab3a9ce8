"""What each kind of run asks of its nodes: `tests/checks/said/fact_request.txt` has each question whole."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.checks import fact_request
from allranks.checks.fact_request import request
from allranks.spec import Run, loads
from tests import said

SAID = Path(__file__).parent / "said" / "fact_request.txt"
TRAIN = "train: {llamafactory: {model_name_or_path: /models/m, dataset: 'a, b,,c', max_steps: 9}}\n"
CONTAINER = "container: {engine: docker, image: x/y, mounts: ['/data:/models', '/data/deep:/models/deep/', '/h/:/']}\n"
HUB = "train: {llamafactory: {model_name_or_path: org/name%s}}\n"
CASES: dict[str, str] = {
    "a trainer": TRAIN,
    "its own Python": f"{TRAIN}environment: {{python: /opt/bin/python}}\nsave: {{to: /out, copy_to: '~/copy'}}\n",
    "on processors": f"{TRAIN}gpus: {{count: 8, model: cpu}}\ndeepspeed: none\nnetwork: {{port: 29501}}\n",
    "in a container": f"{CONTAINER}{TRAIN}save: {{to: /models/deep/out}}\nresume: /models/x\n",
    "in a container that has all of it": "container: {engine: docker, image: x/y, mounts: ['/data:/d']}\n" + TRAIN,
    "resumed from a node": f"{TRAIN}resume: node1:/ckpt\n",
    "resumed by itself": f"{TRAIN}resume: auto\n",
    "code of the model": "train: {llamafactory: "
    "{model_name_or_path: /models/m, trust_remote_code: true, dataset_dir: ONLINE}}\n",
    "datasets": "train: {llamafactory: "
    "{model_name_or_path: m, dataset: [a, ' b'], eval_dataset: c, dataset_dir: 'REMOTE:x'}}\n",
    "a dataset beside": "train: {llamafactory: {model_name_or_path: ~/m, dataset_dir: sets}, workdir: /work}\n",
    "of the Hub": HUB % "",
    "of the Hub, revision": HUB % ", model_revision: v2, cache_dir: /cache",
    "of the Hub, a wrong revision": HUB % ", model_revision: '../x'",
    "of the Hub, its cache by variable": (HUB % "") + "env: {HF_HOME: /hf}\n",
    "of the Hub, in a container": (HUB % "") + CONTAINER + "env: {HF_HUB_CACHE: /models/hub}\n",
    "of the Hub, in a container without a cache": (HUB % "") + CONTAINER,
    "of the Hub, in a container, a cache that is not mounted": (HUB % ", cache_dir: /c")
    + "container: {engine: docker, image: x/y, mounts: ['/data:/d']}\n",
    "of another Hub": (HUB % "") + "env: {USE_MODELSCOPE_HUB: '1'}\n",
    "a script": "train: {command: [/opt/train.py, --deepspeed_config=/etc/ds.json, --out, /o]}\n",
    "a script of transformers": "train: {command: [train.py, --deepspeed, ds.json], workdir: /work}\n",
    "a script with two files": "train: {command: [/a.py, --config, /c.json, --deepspeed, x.yaml]}\n",
    "a module": "train: {command: [-m, pkg.train, --x=y.json], workdir: /work}\n",
    "a module of nobody's folder": "train: {command: [-m, pkg.train]}\n",
    "a script with a model": "train: {command: [/a.py, --model_name_or_path, org/name]}\n",
    "a script in a container": CONTAINER + "train: {command: [/models/a.py, --deepspeed, /models/deep/ds.json]}\n",
}  # fmt: skip


def read(text: str, nodes: str = "node[1-3]") -> Run:
    gpus = "" if "gpus:" in text else "gpus: 8\n"
    return loads(f"nodes: {nodes}\n{gpus}{text}", "/home/u/r.yaml")


PLAN = SimpleNamespace(
    environment={"all": {"NCCL_TOPO_FILE": "/etc/topo.xml", "X": 1}, "nodes": {"node2": {"X": 2}}},
    trainer={"lora_target": "q_proj"}, deepspeed={"zero_optimization": {"stage": 3}},
)  # fmt: skip


def kept(name: str, asked: dict[str, Any]) -> None:
    digest = asked.get("configuration") or {}
    digest.pop("digest", None)
    said.hold(SAID, [f"{name}: {key} = {json.dumps(value)}" for key, value in asked.items()])


@pytest.mark.parametrize("name", CASES)
def test_what_a_run_asks(name: str) -> None:
    asked = request(read(CASES[name]), PLAN)
    assert list(asked) == ["node1", "node2", "node3"]
    kept(name, asked["node1"])
    kept(
        f"{name}, node2",
        {key: value for key, value in asked["node2"].items() if value != asked["node1"][key]},
    )


def test_code_that_is_sent_is_asked_for_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 1}}')
    for number, text in enumerate(("[train.py, --deepspeed, ds.json]", "[-m, a.b, --deepspeed, none.json]")):
        run = loads(
            f"nodes: node[1-2]\ngpus: 8\ncode: {tmp_path}\ntrain: {{command: {text}}}\n",
            str(tmp_path / "r.yaml"),
        )
        asked = request(run, None)["node1"]
        kept(f"code {number}", json.loads(json.dumps(asked).replace(str(tmp_path), "/here")))
        told = [str(path).replace(str(tmp_path), "/here") for path in fact_request.shipped(run)]
        said.hold(SAID, [f"code {number}: sent {told}"])


@pytest.mark.parametrize(("count", "peers"), [(64, 64), (65, 64), (200, 64)])
def test_a_large_run_asks_for_some_routes_alone(count: int, peers: int) -> None:
    """All up to 64 nodes; then the head, the next ones by rank, and some that are spread over the run."""
    run = read(TRAIN, f"n[001-{count:03}]")
    for rank in (0, 7, count - 1):
        found = [node.name for node in fact_request.peers(run, run.cluster.nodes[rank])]
        assert len(found) == len(set(found)) <= peers and "n001" in found
        assert count == 64 or len(found) < peers + 2
        said.hold(SAID, [f"peers of {rank} in {count}: {' '.join(found)}"])
        if count == 200:
            following = [run.cluster.nodes[(rank + step) % count].name for step in range(32)]
            assert set(following) <= set(found) and len(set(found) - set(following)) >= 20


@pytest.mark.parametrize("launcher", ["ssh", "mpi", "pdsh"])
def test_the_head_is_asked_whether_it_reaches_the_others(launcher: str) -> None:
    asked = request(read(f"{TRAIN}launch: {{with: {launcher}}}\n"), None)
    lines = [
        f"{launcher}: {name} reaches {one['ssh']}, programs {one['programs']}" for name, one in asked.items()
    ]
    said.hold(SAID, lines)


def test_a_file_that_holds_no_object_is_empty(tmp_path: Path) -> None:
    for text, value in (('{"a": 1}', {"a": 1}), ("[1]", {}), ("{", {}), ("[" * 100_000, {})):
        (tmp_path / "x.json").write_text(text)
        assert fact_request.local_object(str(tmp_path / "x.json")) == value
    assert fact_request.local_object(str(tmp_path / "none.json")) == {}
