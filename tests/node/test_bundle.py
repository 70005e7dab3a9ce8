"""The bundle under the oldest and the present Python, whole, missing and damaged."""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from allranks.core import process_from_json
from allranks.node import bundle, paths

pytestmark = pytest.mark.lengthy

PYTHONS = sorted(
    {sys.executable, *glob.glob(os.path.expanduser("~/.pyenv/versions/3.[89].*/bin/python"))[:1]}
)


@pytest.fixture
def sent(home):
    """The bundle where a node keeps it."""
    return bundle.install()


def run(python, arguments, stdin=b"", **env):
    return subprocess.run(
        [python, *arguments], input=stdin, capture_output=True, timeout=120, env={**os.environ, **env}
    )


def answer(done):
    assert done.stderr == b"", done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def test_the_same_source_makes_the_same_bytes():
    once = bundle.build()
    bundle.build.cache_clear()
    assert bundle.build() == once
    assert bundle.digest() == hashlib.sha256(once).hexdigest()
    entries = zipfile.ZipFile(io.BytesIO(once)).infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted(names) and {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}


def test_nothing_of_a_test_travels():
    archive = zipfile.ZipFile(io.BytesIO(bundle.build()))
    for name in archive.namelist():
        text = archive.read(name).decode() if name.endswith(".py") else ""
        found = re.findall(
            r"^(?:CASES|FIRES|SILENT)\b|^ *(?:from|import) (?:tests|pytest|unittest)\b.*", text, re.M
        )
        assert not found, name


def test_it_holds_what_nodes_need_and_no_more():
    names = zipfile.ZipFile(io.BytesIO(bundle.build())).namelist()
    assert {"__main__.py", "sitecustomize.py", "allranks/__init__.py", "allranks/core/events.py"} <= set(
        names
    )
    assert {"allranks/runs/__init__.py", "allranks/runs/keeper.py", "allranks/output/report.py"} <= set(names)
    rooms = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert rooms == {"core", "node", "worker", "monitor", "diagnose", "checkpoints", "runs", "output"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    runs = [name for name in names if name.startswith("allranks/runs/")]
    assert all(os.path.basename(name).startswith(("__init__", "keeper")) for name in runs)


@pytest.mark.parametrize("python", PYTHONS, ids=os.path.dirname)
def test_it_is_sent_checked_and_run(home, python):
    code, missing = answer(run(python, bundle.command("version")))
    assert code == bundle.MISSING_CODE and missing["bundle"] == "missing"
    code, stored = answer(run(python, bundle.receive_command(), bundle.build()))
    assert (code, stored) == (0, {"bundle": bundle.path_in(str(home))})
    assert os.stat(stored["bundle"]).st_mode & 0o777 == 0o600
    code, version = answer(run(python, bundle.command("version")))
    assert code == 0 and version["executable"] == python
    assert answer(run(python, bundle.command("version", path=stored["bundle"])))[0] == 0
    assert answer(run(python, bundle.command("read", "runs"))) == (0, {"runs": []})


@pytest.mark.parametrize("python", PYTHONS, ids=os.path.dirname)
def test_every_module_in_it_can_be_imported_there(sent, python):
    names = zipfile.ZipFile(sent).namelist()
    modules = [
        name[:-3].replace("/", ".") for name in names if name.startswith("allranks/") and name.endswith(".py")
    ]
    modules = sorted({name[: -len(".__init__")] if name.endswith(".__init__") else name for name in modules})
    outside = ("allranks.worker.", "allranks.node.sitecustomize_stub", "allranks.node.__main__")
    script = "import importlib, json, sys; sys.path.insert(0, sys.argv[1])\n"
    script += "for name in json.load(sys.stdin): importlib.import_module(name)\n"
    wanted = [name for name in modules if not name.startswith(outside)]
    done = run(python, ["-I", "-S", "-c", script, sent], json.dumps(wanted).encode())
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("python", PYTHONS, ids=os.path.dirname)
def test_a_supervisor_from_the_bundle_starts_watches_and_stops_there(field, sent, python):
    order = field.order(
        field.job(field.tree(name="torchrun", children=[{"name": "rank", "rank": 0, "deaf": True}]))
    )
    arguments = bundle.command("start", field.run_id, "node-0")
    code, started = answer(run(python, arguments, json.dumps(order).encode()))
    assert code == 0, started
    field.daemons.append(process_from_json(started["supervisor"]))
    field.say(start=0)
    field.wait_for("start")
    field.say(stop=0.2)
    swept = field.wait_for("swept")["data"]
    ended = {entry["pid"]: entry["signal"] for entry in swept["signalled"]}
    torchrun, rank = (field.process(name).pid for name in ("torchrun", "rank"))
    assert ended.keys() == {torchrun, rank} and ended[rank] == "SIGKILL" and field.alive() == []
    # torchrun goes at the first word, unless the grace time of 0.2 s is over before it gets to run
    assert ended[torchrun] in ("SIGTERM", "SIGKILL")
    # A rank that init reaps before the supervisor looks leaves no code.
    assert field.wait_for("rank-gone")["data"].get("code", -9) == -9
    field.say(bye=True)
    assert field.gone(field.daemons[0])
    assert paths.read_text(field.node.supervisor_log) == ""


def test_a_damaged_bundle_is_refused_before_a_line_of_it_runs(sent):
    with open(sent, "r+b") as file:
        file.seek(1000)
        there = file.read(1)
        file.seek(1000)
        file.write(bytes([there[0] ^ 1]))
    code, damaged = answer(run(sys.executable, bundle.command("version")))
    assert code == bundle.MISSING_CODE and damaged["bundle"] == "damaged"
    with open(sent, "wb") as file:
        file.write(b"")
    assert answer(run(sys.executable, bundle.command("version")))[1]["bundle"] == "damaged"


def test_a_bundle_cut_on_the_way_is_not_stored(home):
    code, cut = answer(run(sys.executable, bundle.receive_command(), bundle.build()[:-1]))
    assert code == bundle.MISSING_CODE and cut["bundle"] == "damaged"
    assert not os.path.exists(bundle.path_in(str(home)))


def test_a_home_that_cannot_be_written_is_an_error_in_words(home):
    (home / "bundles").write_text("a file")
    code, failed = answer(run(sys.executable, bundle.receive_command(), bundle.build()))
    assert code == 1 and "bundles" in failed["error"]


def test_an_old_python_says_that_it_is_too_old(sent):
    old = glob.glob(os.path.expanduser("~/.pyenv/versions/3.[67].*/bin/python"))
    if not old:
        pytest.skip("no Python older than 3.8 is here")
    code, told = answer(run(old[0], bundle.command("version")))
    assert code == 1 and told["python"] == "old" and "3.8 or newer" in told["error"]


def test_nothing_of_the_callers_environment_takes_part(sent, tmp_path):
    evil = tmp_path / "evil"
    (evil / "allranks").mkdir(parents=True)
    (evil / "allranks" / "__init__.py").write_text("raise SystemExit('shadowed')")
    (evil / "json.py").write_text("raise SystemExit('shadowed')")
    done = run(
        sys.executable, bundle.command("version"), PYTHONPATH=str(evil), PYTHONSTARTUP=str(evil / "json.py")
    )
    assert answer(done)[0] == 0


# ---- what a rank's Python meets ----

PROBE = """
import json, os, sys
said = {"path": [entry for entry in sys.path if entry.endswith(".zip") and "bundles" in entry]}
said["inside"] = "allranks.worker.activation" in sys.modules
said["theirs"] = "user_site_ran" in sys.modules
try:
    import allranks
    said["allranks"] = getattr(allranks, "whose", "ours")
    import allranks.only_theirs
    said["fallback"] = True
except ImportError as error:
    said["allranks"] = said.get("allranks", "none")
    said["fallback"] = False
print(json.dumps(said))
"""


@pytest.fixture
def theirs(tmp_path):
    """A training environment with a sitecustomize and an allranks package of its own."""
    folder = tmp_path / "site"
    (folder / "allranks").mkdir(parents=True)
    (folder / "allranks" / "__init__.py").write_text("whose = 'theirs'")
    (folder / "allranks" / "only_theirs.py").write_text("")
    (folder / "user_site_ran.py").write_text("")
    (folder / "sitecustomize.py").write_text("import user_site_ran")
    return str(folder)


RANK = {"ALLRANKS_RUN_ID": "r1", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}


def probe(path, **env):
    done = run(sys.executable, ["-c", PROBE], PYTHONPATH=path, **env)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), done.stderr.decode()


def test_beside_ranks_nothing_of_ours_is_to_be_seen(sent, theirs):
    said, errors = probe(f"{sent}:{theirs}", ALLRANKS_RUN_ID="r1")
    assert said == {"path": [], "inside": False, "theirs": True, "allranks": "theirs", "fallback": True}
    assert errors == ""


def test_in_a_rank_inside_works_and_their_package_is_still_found(sent, theirs):
    said, errors = probe(f"{sent}:{theirs}", **RANK)
    assert said == {"path": [], "inside": True, "theirs": True, "allranks": "ours", "fallback": True}
    assert errors == ""


def test_a_fault_in_their_sitecustomize_or_in_ours_stops_no_script(sent, theirs):
    with open(os.path.join(theirs, "sitecustomize.py"), "w") as file:
        file.write("raise RuntimeError('theirs')")
    said, errors = probe(f"{sent}:{theirs}", **RANK)
    assert said["inside"] is True and "run_next failed in sitecustomize: RuntimeError: theirs" in errors
    with open(sent, "r+b") as file:
        file.truncate(os.path.getsize(sent) // 2)
    assert probe(f"{sent}:{theirs}", **RANK)[0]["inside"] is False
