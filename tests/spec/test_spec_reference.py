"""docs/run-file.md is what the schema says, and its examples load."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from allranks.spec import loads, run, schema_keys
from allranks.spec.reference import NODES, page
from allranks.spec.schema import KEYS, SECTIONS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_printed_from_the_schema():
    assert (DOCS / "run-file.md").read_text(encoding="utf-8") == page()


def test_every_key_stands_once_and_says_something():
    paths = [key.path for key in schema_keys()]
    assert len(paths) == len(set(paths))
    assert all(key.form and key.says.endswith(".") for key in schema_keys())


def test_the_schema_and_the_dataclasses_have_the_same_keys():
    """A field that no key fills, or a key that no field takes, is a mistake in one of the two."""
    sections = {"gpus": run.Gpus, "container": run.Container, "environment": run.Environment}
    sections |= {"network": run.Network, "launch": run.Launch, "save": run.Save}
    for section, kind in sections.items():
        keys = {key.field or key.name for key in KEYS if key.path.startswith(section + ".")}
        # Launch.inside is found out where allranks runs, and never written.
        assert keys == {field.name for field in dataclasses.fields(kind)} - {"inside"}
    top = {key.path for key in KEYS if "." not in key.path}
    made = {"cluster", "file", "model_config", "lines", "lines_in", "notes", "nodes_known", "text"}
    assert {field.name for field in dataclasses.fields(run.Run)} - made == top - {"nodes"}
    assert set(SECTIONS) == {key.path.split(".")[0] for key in KEYS if "." in key.path}


@pytest.mark.parametrize("key", [key for key in KEYS if key.read is not None], ids=lambda key: key.path)
def test_the_default_that_is_printed_is_the_default(key):
    """Where the reference names a literal value, a run file without the key has that value."""
    bare = loads("nodes: a\ntrain: {command: [a.py]}\ncontainer: {image: x}\n")
    value = bare
    for part in [*key.path.split(".")[:-1], key.field or key.name]:
        value = getattr(value, part) if not isinstance(value, dict) else value.get(part)
    words = {None: None, "": None, (): None, False: "false"}
    if isinstance(value, str | int) and value is not False and key.path not in ("name", "container.image"):
        assert key.default == str(value)
    elif value is False:
        assert key.default == words[False]


def test_the_forms_of_nodes_that_the_page_shows_load(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "gpu[1-2]")
    (tmp_path / "hostfile").write_text("a slots=1\n")
    (tmp_path / "hosts.txt").write_text("a slots=1\n")
    forms = re.findall(
        r"`([^`]+)`", " ".join(re.findall(r"^\|([^|]+)\|", NODES.split("|---|---|")[1], re.MULTILINE))
    )
    assert len(forms) >= 9
    for form in forms:
        launch = "launch: {with: slurm}\n" if form == "3" else ""
        text = f"nodes: {form}\ntrain: {{command: [a.py]}}\n{launch}"
        assert loads(text, str(tmp_path / "r.yaml")).cluster.nodes


def test_the_smallest_run_file_of_the_page_loads(tmp_path):
    (tmp_path / "sft.yaml").write_text("stage: sft\n")
    (block,) = re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL)
    assert loads(block, str(tmp_path / "r.yaml")).cluster.world_size == 16
