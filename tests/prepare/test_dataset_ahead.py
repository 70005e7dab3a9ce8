"""The dataset tokenized before the launch by LLaMA-Factory itself, once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.prepare import NotReady, Prepared, dataset, tokenize
from allranks.spec import Run, load
from allranks.transport import open_nodes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "tiny-deepseek-v3.yaml"


def example(*sets: str) -> Run:
    return load(EXAMPLE, sets=["nodes=localhost", *sets])


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ((), 3),
        (("train/data-00000-of-00002.arrow",), 4),
        (("dataset_dict.json", "train/state.json"), 4),
        (("dataset_dict.json", "train/state.json", "train/dataset_info.json"), 0),
        (("state.json", "dataset_info.json", "data.arrow"), 0),
    ],
)
def test_only_a_whole_dataset_counts_as_tokenized(files: tuple[str, ...], code: int, tmp_path: Path) -> None:
    for name in files:
        place = tmp_path / "tokens" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('{"splits": ["train"]}')
    argv = [sys.executable, "-c", dataset.THERE, str(tmp_path / "tokens")]
    assert subprocess.run(argv, check=False).returncode == code
    run = example(f"train.llamafactory.tokenized_path={tmp_path}/tokens")
    if code == 4:
        with pytest.raises(NotReady, match="is not whole"):
            ahead(run)
        assert all((tmp_path / "tokens" / name).exists() for name in files)


def ahead(run: Run) -> None:
    name = run.cluster.head.name
    asyncio.run(tokenize(Prepared(open_nodes(run)), run, {}, {name: sys.executable}, {name: {}}))


def test_nothing_is_done_where_the_run_file_names_no_place() -> None:
    assert dataset.wanted(example()) is None
    ahead(example())


@pytest.mark.training
def test_the_dataset_lies_there_before_the_launch_and_is_made_once(tmp_path: Path) -> None:
    run = example(f"train.llamafactory.tokenized_path={tmp_path}/tokens")
    ahead(run)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "tokens").rglob("*")}
    assert any(path.suffix == ".arrow" for path in made)
    assert [path.name for path in tmp_path.iterdir()] == ["tokens"]
    ahead(run)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "tokens").rglob("*")} == made


@pytest.mark.training
def test_a_dataset_that_the_trainer_refuses_says_why(tmp_path: Path) -> None:
    sets = [f"train.llamafactory.tokenized_path={tmp_path}/tokens", "train.llamafactory.dataset=no_such_data"]
    with pytest.raises(NotReady) as caught:
        ahead(example(*sets))
    (finding,) = caught.value.findings
    assert finding.id == "dataset-not-tokenized" and "no_such_data" in finding.saw
