"""The deep facts: real imports, kept while nothing changes, and made once on one host."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from allranks.node import facts
from allranks.node.facts import imports


@pytest.fixture
def package(tmp_path):
    """A module that counts its imports and takes its time, and one that fails."""
    folder = tmp_path / "site"
    folder.mkdir()
    count = tmp_path / "count"
    (folder / "slow_one.py").write_text(
        f"import time\nopen({str(count)!r}, 'a').write('x')\ntime.sleep(0.15)\nprint('a warning on stdout')\n"
    )
    (folder / "broken_one.py").write_text(
        f"open({str(count)!r}, 'a').write('x')\nimport no_such_module_at_all\n"
    )
    (folder / "crashing_one.py").write_text("import os\nos.kill(os.getpid(), 11)\n")
    return folder, count


def collected(folder, *names):
    request = {
        "families": ["imports"],
        "python": sys.executable,
        "imports": names,
        "env": {"PYTHONPATH": str(folder)},
    }
    return facts.collect(request)


def test_a_success_is_kept_until_the_environment_changes(home, package):
    folder, count = package
    found = collected(folder, "slow_one").values["imports"]
    assert found["modules"]["slow_one"]["seconds"] >= 0.15 and found["cached"] is False
    assert collected(folder, "slow_one").values["imports"]["cached"] is True
    assert count.read_text() == "x"
    (folder / "new-1.0.dist-info").mkdir()
    assert collected(folder, "slow_one").values["imports"]["cached"] is False
    assert count.read_text() == "xx"


def test_a_failure_says_why_and_is_not_kept(home, package):
    folder, count = package
    found = collected(folder, "json", "broken_one").values["imports"]["modules"]
    assert "error" not in found["json"] and "no_such_module_at_all" in found["broken_one"]["error"]
    assert found["broken_one"]["file"].endswith("broken_one.py") and found["broken_one"]["line"] == 2
    collected(folder, "json", "broken_one")
    assert count.read_text() == "xx", "its cure need not change anything that the cache knows"


@pytest.mark.lengthy
def test_collectors_of_one_host_wait_for_one(home, package):
    folder, count = package
    answers = []
    workers = [threading.Thread(target=lambda: answers.append(run_in_process(folder))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert len(answers) == 3 and all("seconds" in answer for answer in answers)
    assert count.read_text() == "x"


def run_in_process(folder):
    import subprocess

    code = (
        "import json, sys; from allranks.node import facts; "
        "f = facts.collect({'families': ['imports'], 'python': sys.executable, 'imports': ['slow_one'], "
        f"'env': {{'PYTHONPATH': {str(folder)!r}}}}}); print(json.dumps(f.values['imports']['modules']['slow_one']))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30).stdout


def test_a_crash_of_the_interpreter_names_the_module(home, package):
    folder, _ = package
    found = collected(folder, "json", "crashing_one")
    assert "importing crashing_one ended the Python itself" in str(found.why_unreadable("imports.modules"))


def test_an_import_that_hangs_is_given_up(home, package):
    folder, _ = package
    (folder / "hanging_one.py").write_text("import time\ntime.sleep(60)\n")
    began = time.monotonic()
    found = facts.collect(
        {
            "families": ["imports"],
            "python": sys.executable,
            "imports": ["hanging_one"],
            "env": {"PYTHONPATH": str(folder)},
            "limits": {"imports": 0.9},
        }
    )
    assert time.monotonic() - began < 50
    assert "did not answer" in str(found.why_unreadable("imports.modules"))


def test_without_a_place_for_the_cache_it_is_asked_each_time(home, package):
    folder, count = package
    (home / "cache").parent.mkdir(exist_ok=True)
    (home / "cache").write_text("a file where the folder should be: not even root can make it")
    collected(folder, "slow_one")
    collected(folder, "slow_one")
    assert count.read_text() == "xx"


@pytest.mark.parametrize(
    "kept", [{}, {"answer": 7, "at": 1}, {"answer": {}, "at": "x"}, {"answer": {"modules": 3}}]
)
def test_a_damaged_cache_is_no_answer(kept):
    assert not imports.usable(kept, began=0.0) or imports.failures(kept.get("answer", {})) == []


def test_the_deepspeed_json_of_a_script_is_read_where_the_script_runs(tmp_path):
    path = tmp_path / "ds.json"
    question = {"configuration": {"kind": "deepspeed", "path": str(path), "deepspeed": None}}
    assert imports.asked(question) == {}, "there is none"
    for other in ('{"learning_rate": 1}', "[1]", "{"):
        path.write_text(other)
        assert imports.asked(question) == {}, "another program's"
    path.write_text('{"zero_optimization": {"stage": 3}}')
    assert imports.asked(question)["deepspeed"] == {"zero_optimization": {"stage": 3}}
    sent = {"configuration": {**question["configuration"], "deepspeed": {"train_batch_size": 3}}}
    assert imports.asked(sent)["deepspeed"] == {"train_batch_size": 3}, "what was sent is not read again"
    assert imports.asked({"configuration": None}) == imports.asked({}) == {}
