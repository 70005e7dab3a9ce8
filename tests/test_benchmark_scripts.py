"""The series of public scripts: its corpus, what counts as named, and the fault that a trial plants."""

from __future__ import annotations

import subprocess
import sys

from benchmarks._scripts import corpus, results
from benchmarks._scripts.trial import KINDS, PLANT, laid_out

FAKE = "class Hooks:\n    pass\nafter = []\nregister_optimizer_step_post_hook = after.append\n"
LOOP = "from torch.optim import optimizer\nfor n in range(4):\n    optimizer.after[0](None, (), {})\nprint('end')\n"


def test_each_line_of_the_corpus_says_where_the_script_is_and_what_it_needs() -> None:
    scripts = corpus.scripts()
    assert len({script.name for script in scripts}) == len(scripts)
    places = {"model": "/m", "out": "/o"}
    for script in scripts:
        assert script.path.endswith(".py") and script.commit and script.framework
        assert script.package or len(script.commit) == 40, script.name
        assert "{out}" not in " ".join(script.words(places))
        assert all(script.variables(places)) and all(script.links(places))


def test_a_planted_fault_counts_as_named_by_its_rank_and_its_cause() -> None:
    raised = {"kind": "raise", "rank": 1, "evidence": "rank 1: RuntimeError: planted in rank 1 after step 2"}
    killed = {"kind": "kill", "rank": 2, "cause": "rank-sigkilled"}
    assert results.named(raised) and results.named(killed) and results.named(None) is None
    assert not results.named({**raised, "rank": 0}) and not results.named(
        {**raised, "evidence": "rank 1: lost"}
    )
    assert not results.named({**killed, "cause": "unproven"}) and not results.named({**killed, "rank": 0})


def test_a_scripts_folder_is_copied_and_its_inputs_are_laid_at_its_depth(tmp_path) -> None:
    source = tmp_path / "owner+name" / "examples" / "deep"
    source.mkdir(parents=True)
    (source / "train.py").write_text("")
    (tmp_path / "mnist").mkdir()
    path = "examples/deep/train.py"
    script = corpus.Script("x", "y", "owner/name", "0" * 40, path, "", "data={mnist}", "", "")
    here, start = laid_out(
        script, source / "train.py", tmp_path / "trial", {"mnist": str(tmp_path / "mnist")}
    )
    assert (here / start).is_file() and (here / ".." / ".." / "data").is_dir() and start == "train.py"


def test_the_plant_raises_and_kills_in_its_rank_at_its_step_and_counts_elsewhere(tmp_path) -> None:
    """With a stand-in for torch's optimizers."""
    package = tmp_path / "torch" / "optim"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "optimizer.py").write_text(FAKE)

    def rank(number: int, plant: str) -> subprocess.CompletedProcess[str]:
        env = {"PYTHONPATH": f"{PLANT}:{tmp_path}", "PLANT": plant, "PLANT_DIR": str(tmp_path)}
        env |= {"RANK": str(number), "LOCAL_RANK": "0"}
        return subprocess.run(
            [sys.executable, "-c", LOOP], env=env, capture_output=True, text=True, timeout=30
        )

    assert "planted in rank 1 after step 2" in rank(1, KINDS["raise"]).stderr
    assert rank(2, KINDS["kill"]).returncode == -9
    assert rank(0, KINDS["kill"]).stdout == "end\n" and (tmp_path / "steps-0").read_text() == "4"
    assert (tmp_path / "steps-1").read_text() == "2"


def test_the_page_counts_only_what_was_tried(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "scripts.jsonl")
    first, second, third = corpus.scripts()[:3]
    common = {"seconds": 9.0, "files": 1, "stepped": [8, 8, 8]}
    results.keep({**common, "script": first.name, "kind": "hand", "ok": True})
    results.keep(
        {**common, "script": first.name, "kind": "run", "ok": True, "step": 8, "loss": True, "saves": 0}
    )
    results.keep({"script": first.name, "kind": "raise", "rank": 0, "cause": "unproven", "state": "failed"})
    results.keep({**common, "script": second.name, "kind": "hand", "ok": False, "log": "no | GPU"})
    page = results.page([first, second, third], {third.name: "no package x"})
    assert "2 were tried, 1 of them run by hand" in page and "**1** of the 1 that were" in page
    assert "in 0 of the 1 that make any" in page and "**not seen**" in page
    assert "**0** of 1" in page and "**unproven**, rank 0" in page and "**0** of 0" in page
    assert "no: no GPU" in page and f"{third.name} (no package x)" in page
