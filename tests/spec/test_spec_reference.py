"""The reference of the run file holds every key, its defaults are the defaults, and its examples load."""

from __future__ import annotations

import re

import pytest

from allranks.spec import drafts, loads
from allranks.spec.keys import KEY, key
from allranks.spec.reference import NODES, page
from allranks.spec.run import KEYS, SECTIONS

WRITTEN = [*KEYS, *(key for keys in SECTIONS.values() for key in keys)]
ALL = [*WRITTEN, *drafts.KEYS]


def test_every_key_stands_once_and_says_something():
    assert len({key.path for key in ALL}) == len(ALL) > 50
    assert all(key.form and key.says.endswith(".") and f"| `{key.path}` |" in page() for key in ALL)


@pytest.mark.parametrize(
    "key", [key for key in WRITTEN if key.read and not key.section], ids=lambda key: key.path
)
def test_the_default_that_is_printed_is_the_default(key):
    """Where the reference names a literal value, a run file without the key has that value."""
    bare = loads("nodes: a\ntrain: {command: [a.py]}\ncontainer: {image: x}\n")
    value = bare
    for part in [*key.path.split(".")[:-1], key.field]:
        value = getattr(value, part) if not isinstance(value, dict) else value.get(part)
    words = {None: None, "": None, (): None, False: "false"}
    apart = ("name", "container.image", "network.port")  # `auto` is not a number in a run
    if isinstance(value, str | int) and value is not False and key.path not in apart:
        assert key.default == str(value)
    elif value is False:
        assert key.default == words[False]


def test_the_port_is_the_first_free_one_unless_a_number_is_said():
    said = [
        loads(f"nodes: a\ntrain: {{command: [a.py]}}\nnetwork: {{port: {port}}}\n") for port in ("auto", 4000)
    ]
    bare = loads("nodes: a\ntrain: {command: [a.py]}\n")
    assert bare.network == said[0].network and [one.network.port for one in said] == [0, 4000]


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
    block = re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL)[0]
    assert loads(block, str(tmp_path / "r.yaml")).cluster.world_size == 16


@pytest.mark.parametrize(
    ("default", "said"),
    [(None, "none"), ((), "none"), ({}, "none"), (False, "false"), (7, "7"), ("auto", "auto")],
)
def test_what_the_reference_says_of_a_missing_key(default, said):
    assert key(None, "Says.", default).metadata[KEY].default == said
