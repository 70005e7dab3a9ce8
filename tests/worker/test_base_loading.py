"""Small models loaded under ZeRO-3 by each rank for itself, against transformers' own way, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.training, pytest.mark.timeout(400)]
ROOT = Path(__file__).resolve().parents[2]
LEGACY = ROOT / ".venvs" / "legacy"
WORKER = Path(__file__).parent / "loading_worker.py"
RANKS = 3
OWN_BYTES = 4 * 1024 + 2  # what a rank hands over: two votes, and two to four answers


def loaded(out: Path, python: str, extensions: str) -> list[dict]:
    """What each rank told of all cases."""
    (out / "ranks").mkdir()
    env = dict(
        os.environ, PATH=os.pathsep.join([str(Path(python).parent), os.environ["PATH"]]), OMP_NUM_THREADS="1",
        PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]), HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="",
        ALLRANKS_HOME=str(out / "home"), ALLRANKS_RUN_ID="test", ALLRANKS_RANKS_DIR=str(out / "ranks"),
        ALLRANKS_LOGS_DIR="", ALLRANKS_LOADER="own", TORCH_EXTENSIONS_DIR=extensions,
    )  # fmt: skip
    argv = [python, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", "--rdzv-backend", "c10d"]
    argv += ["--rdzv-endpoint", "127.0.0.1:0", "--log-dir", str(out / "torchrun"), str(WORKER), str(out)]
    with open(out / "log", "wb") as log:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
        try:
            code = process.wait(timeout=300)
        finally:
            if process.poll() is None:
                process.terminate()  # torchrun ends its ranks, which are in sessions of their own
                process.wait(timeout=60)
    assert code == 0, (out / "log").read_text()[-4000:]
    for rank in range(RANKS):
        events = [
            json.loads(line) for line in (out / "ranks" / f"rank-{rank}.jsonl").read_text().splitlines()
        ]
        assert not [event for event in events if event["data"].get("trouble")]
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(RANKS)]


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> list[dict]:
    return loaded(tmp_path_factory.mktemp("loading"), sys.executable, os.environ["TORCH_EXTENSIONS_DIR"])


@pytest.mark.parametrize(
    "case",
    ["dense", "tied", "moe", "head", "body", "converted", "fp8", "fp8-asked", "outer", "odd-type", "reward"],
)
def test_each_rank_has_what_the_stock_way_gives_it(told: list[dict], case: str) -> None:
    for rank in told:
        stock, own = rank[case]["stock"], rank[case]["own"]
        assert stock["error"] is None and own["error"] is None
        assert own["digests"] == stock["digests"] and own["buffers"] == stock["buffers"]
        assert [note for note in own["notes"] if note.startswith("loader own: read ")]
    parts = [set(rank[case]["own"]["digests"].items()) for rank in told]
    assert parts[0] != parts[1] != parts[2]


@pytest.mark.parametrize("case", ["dense", "tied", "moe", "fp8"])
def test_the_network_carries_no_weight(told: list[dict], case: str) -> None:
    for rank in told:
        assert 0 < rank[case]["own"]["sent"] <= OWN_BYTES < rank[case]["stock"]["sent"] / 50


def test_what_is_no_plain_sequence_is_counted(told: list[dict]) -> None:
    notes = {case: told[0][case]["own"]["notes"][-1] for case in ("dense", "moe", "converted")}
    assert "30 parameters its own part, 0 tensors the stock way" in notes["dense"]
    assert ", 2 tensors the stock way" in notes["moe"]  # the two routers' correction bias, a buffer
    assert ", 1 tensors the stock way" in told[0]["body"]["own"]["notes"][-1]
    assert "27 parameters its own part, 3 tensors the stock way" in notes["converted"]


def test_a_doubt_begins_anew_in_the_stock_way(told: list[dict]) -> None:
    for rank in told:
        stock, own = rank["pickle"]["stock"], rank["pickle"]["own"]
        assert own["error"] is None and own["digests"] == stock["digests"]
        assert own["notes"] == ["loader stock: rank 0: pytorch_model.bin is not a safetensors file"]
        stock, own = rank["shape"]["stock"], rank["shape"]["own"]
        assert own["error"] == stock["error"]  # of rank 0 alone, as transformers has it
        assert "is (64, 252) in the model, (64, 253) in the files" in own["notes"][0]
    assert told[0]["shape"]["own"]["error"] is not None


def test_what_a_model_draws_for_itself_is_rank_0s(told: list[dict]) -> None:
    for rank in told:
        stock, own = rank["drawn"]["stock"], rank["drawn"]["own"]
        assert own["error"] is None and own["digests"] == stock["digests"]
        said = "the model draws random numbers itself, and not all of it is in the files"
        assert own["notes"] == [f"loader stock: rank 0: {said}"]


def test_a_model_that_looks_at_its_weights_while_it_is_built_sees_them(told: list[dict]) -> None:
    for rank in told:
        stock, own = rank["asking"]["stock"], rank["asking"]["own"]
        assert own["error"] is None and own["digests"] == stock["digests"]
        assert own["notes"] == [
            "loader stock: rank 0: the model's code looks at its weights before they are read"
        ]


def test_a_large_parameter_that_no_file_holds_gets_the_librarys_values(told: list[dict]) -> None:
    for rank in told:
        stock, own = rank["lost"]["stock"], rank["lost"]["own"]
        assert stock["error"] is None and own["error"] is None and own["digests"] == stock["digests"]
        assert own["notes"] == ["loader stock: rank 0: lm_head.weight is not in the files"]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("cut", "00002-of-00003.safetensors has "),
        ("missing", "00002-of-00003.safetensors: No such file"),
        ("older", "The base model that rank 1 reads ("),
        ("index", "model-00002-of-00003.safetensors"),
        ("config", "its config.json or its libraries build other parameters"),
        ("wrong", "layers.1.mlp.up_proj.weight is not what its file holds"),
        ("touched", "00001-of-00003.safetensors was replaced or written to while it was read"),
    ],
)
def test_a_bad_copy_on_one_node_is_the_same_error_on_every_rank(
    told: list[dict], case: str, said: str
) -> None:
    errors = {rank[case]["own"]["error"] for rank in told}
    assert len(errors) == 1
    (error,) = errors
    assert error.startswith("BaseUnreadable: ") and said in error
    # whoever looks after the touch sees it, on this machine rank 0 too
    assert case in ("older", "config", "touched") or f"Rank {2 if case == 'wrong' else 1} (" in error


def test_a_rank_that_shall_load_in_the_stock_way_brings_all_others_to_it(told: list[dict]) -> None:
    for number, rank in enumerate(told):
        assert rank["mixed"]["own"]["digests"] == rank["dense"]["stock"]["digests"]
        assert len(rank["mixed"]["own"]["notes"]) == (number != 1)


def test_ranks_that_would_read_in_different_ways_go_the_stock_way(told: list[dict]) -> None:
    for rank in told:
        assert rank["plans"]["own"]["digests"] == rank["dense"]["stock"]["digests"]
        assert rank["plans"]["own"]["notes"] == [
            "loader stock: rank 1 would lay the model out in another way than rank 0"
        ]


def test_the_cache_gives_the_same_bytes_and_never_wrong_ones(told: list[dict]) -> None:
    for number, rank in enumerate(told):
        stock, steps = rank["dense"]["stock"], rank["cached"]
        for step in ("written", "read", "damaged", "again"):
            assert steps[step]["error"] is None and steps[step]["digests"] == stock["digests"]
        assert steps["replaced"]["digests"] == steps["replaced stock"]["digests"] != stock["digests"]
        assert (
            steps["fp8 written"]["digests"] == steps["fp8 read"]["digests"] == rank["fp8"]["stock"]["digests"]
        )
        notes = {step: "".join(one["notes"][-1:]).partition("; cache: ")[2] for step, one in steps.items()}
        assert notes["written"].startswith("written to it: ")
        assert notes["read"].startswith("read from it: ") and notes["again"] == notes["read"]
        damaged = "the cached part is damaged (its digest is wrong) and was not used; cache: written to it"
        assert notes["damaged"].startswith(damaged if number == 1 else "read from it: ")
        assert notes["replaced"].startswith(
            "the cache holds an older state of these files, which was not used; "
        )
        assert notes["fp8 written"].startswith("written to it: ") and notes["fp8 read"].startswith(
            "read from it: "
        )


@pytest.mark.legacy
@pytest.mark.seldom
@pytest.mark.skipif(not (LEGACY / "torch_extensions").exists(), reason="scripts/setup.sh --legacy makes it")
def test_transformers_4_which_loads_file_by_file(tmp_path: Path) -> None:
    told = loaded(tmp_path, str(LEGACY / "bin" / "python"), str(LEGACY / "torch_extensions"))
    for rank in told:
        for case in [
            "dense",
            "tied",
            "moe",
            "head",
            "body",
            "lost",
            "pickle",
            "outer",
            "hidden",
            "odd-type",
            "drawn",
            "asking",
        ]:
            stock, own = rank[case]["stock"], rank[case]["own"]
            assert stock["error"] is None and own["error"] is None
            assert own["digests"] == stock["digests"] and own["buffers"] == stock["buffers"]
            whole = case in ("lost", "pickle", "drawn", "asking")
            assert own["notes"][-1].startswith("loader stock: " if whole else "loader own: read ")
        for step in ("written", "read", "damaged"):
            assert rank["cached"][step]["digests"] == rank["dense"]["stock"]["digests"]
        assert "; cache: read from it: " in rank["cached"]["again"]["notes"][-1]
        for case in ("cut", "missing", "older", "config"):
            assert rank[case]["own"]["error"].startswith("BaseUnreadable: ")
        # separate experts: one more exchange for each file, and the routers, which have a buffer beside their weight
        assert rank["moe"]["own"]["sent"] < rank["moe"]["stock"]["sent"] / 50
