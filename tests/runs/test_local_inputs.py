"""What this machine knows of a run before a node is asked."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from allranks import checks
from allranks.core import Cluster, Facts, Finding, Node
from allranks.plan import make_plan
from allranks.runs import local_inputs
from allranks.runs.inspection import local_config
from allranks.spec import Gpus, Launch, Run, Train, base_model, loads


def a_run(folder: Path, launch: str = "local", command: tuple[str, ...] = (), **arguments) -> Run:
    given = {"dataset_dir": str(folder), **arguments}
    train = Train("command", command=command) if command else Train("llamafactory", given)
    nodes = Cluster((Node("a", "127.0.0.1", 0, 8),))
    return Run(
        "x",
        nodes,
        train,
        file=str(folder / "run.yaml"),
        launch=Launch(launch),
        gpus=Gpus(8, "A100-SXM4-80GB"),
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    info = {
        "lines": {"file_name": "lines.jsonl"},
        "array": {"file_name": "array.json"},
        "hub": {"hf_hub_url": "x/y"},
        "gone": {"file_name": "gone.jsonl"},
        "table": {"file_name": "t.parquet"},
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n{"a": 3}')
    (tmp_path / "array.json").write_text(json.dumps([{}] * 10))
    (tmp_path / "t.parquet").write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"dataset": "lines"}, 3),
        ({"dataset": "lines,array"}, 13),
        ({"dataset": "lines, array", "max_samples": 5}, 8),
        ({"dataset": "array", "val_size": 0.2}, 8),
        ({"dataset": "array", "val_size": 4}, 6),
        ({"dataset": "lines,hub"}, None),
        ({"dataset": "gone"}, None),
        ({"dataset": "table"}, None),
        ({"dataset": "unheard"}, None),
        ({}, None),
    ],
)
def test_samples_are_counted_where_all_files_are_here(data: Path, arguments: dict, count: int | None) -> None:
    assert local_inputs.samples_of(a_run(data, **arguments)) == count


def test_a_relative_script_on_other_machines_is_a_warning(tmp_path: Path) -> None:
    (finding,) = local_inputs.script_findings(a_run(tmp_path, "ssh", ("train.py",)))
    assert finding.verdict == "warn" and "relative" in finding.saw
    assert local_inputs.script_findings(a_run(tmp_path, "ssh", ("/opt/train.py",))) == []
    assert local_inputs.script_findings(a_run(tmp_path, "local", ("-m", "package"))) == []


def test_a_described_family_asks_nobody(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(local_inputs, "_query", lambda *_: pytest.fail("a program was started"))
    assert local_inputs.described(a_run(tmp_path), {"model_type": "llama"}, sys.executable) is None
    assert local_inputs.described(a_run(tmp_path), None, sys.executable) is None


PYTHON = sys.executable
UNDESCRIBED = {"model_type": "no_such_family"}


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def bare_python(path: Path) -> str:
    """A Python that finds no installed package: it has neither torch nor transformers."""
    return program(path, f'exec {PYTHON} -I -S "$@"')


ANSWERS = """echo '{"modules": [], "from": "this one"}'"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch) -> Path:
    """A machine on which nothing describes a model: no Python with torch runs allranks, none is on PATH."""
    monkeypatch.setattr(local_inputs.sys, "executable", bare_python(tmp_path / "own" / "python"))
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path


def test_no_python_at_hand_is_said_with_what_each_lacks(machine: Path) -> None:
    named = bare_python(machine / "environment" / "python")
    on_path = program(machine / "path" / "python3", "echo broken >&2; exit 3")
    run = a_run(machine)
    answer = local_inputs.described(run, UNDESCRIBED, named)
    assert answer is not None and list(answer["tried"]) == [named, local_inputs.sys.executable, on_path]
    assert answer["tried"][named] == "torch is not installed" and "broken" in answer["tried"][on_path]
    (finding,) = make_plan(run, UNDESCRIBED, described=answer).findings
    assert (finding.id, finding.verdict) == ("model-config-unreadable", "unknown")
    assert f"{named}: torch is not installed" in finding.saw and "no_such_family" in finding.saw
    assert "environment: {python:" in finding.fix


@pytest.mark.parametrize("who", ["named", "own", "path"])
def test_a_python_that_lacks_torch_is_passed_over(machine: Path, monkeypatch, who: str) -> None:
    """The named one comes first, then the one that runs allranks, then PATH's: any python3 in front hides nothing."""
    places = {
        "named": machine / "environment" / "python",
        "own": machine / "own" / "python",
        "path": machine / "path" / "python3",
    }
    for one, path in places.items():
        program(path, ANSWERS.replace("this one", one)) if one == who else bare_python(path)
    answer = local_inputs.described(a_run(machine), UNDESCRIBED, str(places["named"]))
    assert answer == {"modules": [], "from": who}


def test_an_environment_on_the_nodes_alone_leaves_the_python_that_runs_allranks(machine: Path) -> None:
    own = program(machine / "own" / "python", ANSWERS)
    answer = local_inputs.described(a_run(machine, "ssh"), UNDESCRIBED, "/shared/env/bin/python")
    assert (
        answer is not None and answer["from"] == "this one" and local_inputs.pythons("/no/python")[0] == own
    )


def test_the_config_of_a_hub_model_is_read_from_this_machines_cache(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "hub" / "models--Qwen--Qwen3-8B"
    for commit, hidden in (("abc", 1), ("def", 2)):
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "snapshots" / commit / "config.json").write_text(json.dumps({"hidden_size": hidden}))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("def")

    def config(**arguments):
        return local_config(a_run(tmp_path, **arguments))

    assert config(model_name_or_path="Qwen/Qwen3-8B") == {"hidden_size": 2}
    assert config(model_name_or_path="Qwen/Qwen3-8B", model_revision="abc") == {"hidden_size": 1}
    assert config(model_name_or_path="Qwen/Qwen3-9B") is None
    assert config(model_name_or_path="../Qwen3-8B") is None


@pytest.mark.training
def test_another_family_is_described_by_the_training_environment(tmp_path: Path) -> None:
    """olmo2 has no file here: transformers builds it on the meta device."""
    config = {"model_type": "olmo2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
    config |= {"num_attention_heads": 4, "vocab_size": 320}
    run = a_run(tmp_path, lora_target="q_proj", bf16=True, per_device_train_batch_size=1)
    answer = local_inputs.described(run, config, sys.executable)
    plan = make_plan(run, config, described=answer)
    assert plan.trainable_parameters == 3 * 8 * 2 * 64 and plan.memory is not None


# ---- code that is shipped is read here ----

SHIPS = "nodes: {a: 10.0.0.1, b: 10.0.0.2}\ngpus: {model: cpu}\ncode: mine\n"
BATCH = "batch = 128 * (world_size // 8)\n"


def shipping(folder: Path, train: str = "command: [sub/train.py, --deepspeed_config=ds.json]") -> Run:
    (folder / "mine" / "sub").mkdir(parents=True, exist_ok=True)
    return loads(SHIPS + f"train: {{{train}}}\n", str(folder / "run.yaml"))


def judged(run: Run, *facts: Facts) -> dict[str, Finding]:
    plan = make_plan(run)
    told = local_inputs.with_shipped(run, facts)
    return {f.id: f for f in checks.judge(told, plan, run) if f.id.startswith(("script-", "workdir-"))}


def answers(run: Run) -> list[Facts]:
    return [Facts(node.name, 0.0, {"storage": {"files": {}}}) for node in run.cluster.nodes]


def test_code_that_names_the_script_itself_is_told_as_that(tmp_path: Path) -> None:
    run = replace(shipping(tmp_path), code=str(tmp_path / "train.py"))
    (tmp_path / "train.py").write_text("")
    (found,) = local_inputs.script_findings(run)
    assert "is a file" in found.saw and found.fix.startswith(f"code: {tmp_path},")


def test_the_checks_of_a_script_look_into_the_code_that_is_shipped(tmp_path: Path) -> None:
    run = shipping(tmp_path)
    asked = checks.request(run, make_plan(run))
    assert [one["files"] for one in asked.values()] == [[], []]  # the nodes do not have it yet
    (found,) = judged(run, *answers(run)).values()
    assert (found.id, found.verdict, found.where.node) == ("script-missing", "block", None)
    assert str(tmp_path / "mine" / "sub" / "train.py") in found.saw
    assert [one.id for one in local_inputs.script_findings(run)] == ["script-missing"]
    (tmp_path / "mine" / "sub" / "train.py").write_text(BATCH)
    (tmp_path / "mine" / "sub" / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto"}')
    found = judged(run, *answers(run))
    assert found["script-batch-zero"].where.file == str(tmp_path / "mine" / "sub" / "train.py")
    assert "script-deepspeed-json" in found and local_inputs.script_findings(run) == []


def test_a_node_that_did_not_answer_is_not_given_facts(tmp_path: Path) -> None:
    silent = Facts("b", 0.0, {}, {"node": "no answer"})
    run = shipping(tmp_path)
    first, second = local_inputs.with_shipped(run, [answers(run)[0], silent])
    assert first.get("storage.files") and second == silent


def test_code_that_cannot_be_read_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(path: str) -> dict:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(local_inputs, "read_file", refuses)
    run = shipping(tmp_path)
    told = local_inputs.with_shipped(run, answers(run))
    unknown = [f for f in checks.judge(told, make_plan(run), run) if "Permission denied" in f.saw]
    assert [(f.id, f.verdict, f.stops_launch) for f in unknown] == [("script-missing", "unknown", True)] * 2


def test_a_module_is_read_if_it_lies_in_the_code(tmp_path: Path) -> None:
    run = shipping(tmp_path, "command: python -m sub.train")
    assert judged(run, *answers(run)) == {}  # it may be installed
    assert local_inputs.script_findings(run) == []
    (tmp_path / "mine" / "sub" / "train.py").write_text(BATCH)
    assert set(judged(run, *answers(run))) == {"script-batch-zero"}


def test_a_folder_to_start_in_is_looked_for_in_the_code(tmp_path: Path) -> None:
    run = shipping(tmp_path, "command: [-m, pkg.train], workdir: sub/data")
    (found,) = judged(run, *answers(run)).values()
    assert (found.id, found.verdict) == ("workdir-missing", "block")
    (tmp_path / "mine" / "sub" / "data").mkdir()
    assert judged(run, *answers(run)) == {}


def test_a_trainers_data_are_looked_for_in_the_folder_that_it_starts_in(tmp_path: Path) -> None:
    text = (
        "nodes: {a: 10.0.0.1}\ntrain:\n  llamafactory: {dataset_dir: data, dataset: d}\n  workdir: /srv/x\n"
    )
    run = loads(text, str(tmp_path / "run.yaml"))
    assert checks.request(run, make_plan(run))["a"]["dataset"]["dir"] == "/srv/x/data"


def test_a_folder_to_start_in_is_asked_of_the_nodes(tmp_path: Path) -> None:
    run = shipping(tmp_path, "command: [sub/train.py], workdir: /srv/gpt")
    asked = checks.request(run, make_plan(run))
    assert [one["files"] for one in asked.values()] == [["/srv/gpt"], ["/srv/gpt"]]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--model_name_or_path", "org/name"), "org/name"),
        (("--model_name_or_path=a/b", "--model_name_or_path=org/name"), "org/name"),
        (("--model_name_or_path", "--bf16"), None),
        (("--model_name_or_path", "{resume}"), None),
        (("--model", "org/name"), None),
    ],
)
def test_a_script_names_its_model_as_transformers_examples_do(tmp_path: Path, words, name) -> None:
    assert base_model.name_of(a_run(tmp_path, command=("train.py", *words))) == name


def test_the_model_of_a_script_is_described_but_not_its_memory(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320}
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    run = a_run(tmp_path, command=("train.py", "--model_name_or_path", "./m"))
    plan = make_plan(run, local_config(run))
    assert plan.model is not None and plan.model.total_parameters > 0
    assert plan.memory is None and plan.trainable_parameters is None
    (note,) = [one for one in plan.findings if one.id == "model-config-unreadable"]
    assert note.verdict == "note" and "in bf16" in note.saw and "./m" in note.saw


@pytest.mark.parametrize("named", ["org/name", "./gone", "/models/one.pt"])
def test_without_a_config_the_model_of_a_script_stays_unknown(tmp_path: Path, named: str) -> None:
    run = a_run(tmp_path, command=("train.py", "--model_name_or_path", named))
    plan = make_plan(run, local_config(run))
    assert plan.model is None and base_model.folder_of(run) is None
    assert [one.saw for one in plan.findings if named in one.saw]
