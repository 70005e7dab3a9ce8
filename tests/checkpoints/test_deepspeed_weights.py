"""The weights of real DeepSpeed checkpoints, joined, proved and compared with what the model itself held."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allranks.checkpoints.export import export

pytestmark = pytest.mark.training

RANKS = Path(__file__).with_name("deepspeed_ranks.py")


@pytest.fixture(scope="module", params=[pytest.param(2, marks=pytest.mark.seldom), 3])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tags of two ranks under ZeRO-2 and ZeRO-3."""
    folder = tmp_path_factory.mktemp(f"zero{request.param}")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    words += ["--log-dir", str(folder.parent / f"torchrun{request.param}")]
    env = {**os.environ, "STAGE": str(request.param), "DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"}
    extensions = Path(sys.prefix) / "torch_extensions"
    if extensions.is_dir():
        env["TORCH_EXTENSIONS_DIR"] = str(extensions)
    done = subprocess.run(
        [*words, str(RANKS), str(folder)], env=env, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def ids(answer: dict[str, Any]) -> list[str]:
    return [one["id"] for one in answer["findings"]]


def test_the_weights_are_those_that_the_model_held(saved: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    answer = export(str(saved), str(tmp_path / "weights"), form="weights")
    assert ids(answer) == ["export-whole"] and answer["proof"]["parameters"] == 6
    weights = load_file(tmp_path / "weights" / "model.safetensors")
    truth = torch.load(saved / "truth.pt")
    assert set(weights) == set(truth)
    assert all(torch.equal(weights[name], truth[name].float()) for name in truth)


def test_a_tag_can_be_named_and_nothing_is_written_over(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "weights"
    answer = export(str(saved / "step_1"), str(target), form="weights")
    assert "of step_1 in float32" in answer["findings"][0]["saw"]
    before = sorted(target.iterdir())
    assert ids(export(str(saved), str(target), form="weights")) == ["export-exists"]
    assert sorted(target.iterdir()) == before


def test_a_converter_that_errs_is_found(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of one parameter, a parameter too many, one too few: nothing is left at the target."""
    from deepspeed.utils import zero_to_fp32

    right = zero_to_fp32.get_fp32_state_dict_from_zero_checkpoint

    def wrong(*given: Any) -> dict[str, Any]:
        state = dict(right(*given))
        state["a.weight"].view(-1)[7] += 1e-6
        state["more"] = state["a.bias"]
        del state["b.weight"]
        return state

    monkeypatch.setattr(zero_to_fp32, "get_fp32_state_dict_from_zero_checkpoint", wrong)
    answer = export(str(saved), str(tmp_path / "weights"), form="weights")
    assert ids(answer) == ["export-differs"] and not (tmp_path / "weights").exists()
    told = " ".join(answer["findings"][0]["evidence"])
    assert "a.weight has other values" in told and "b.weight is missing" in told and "holds more" in told


class Hostile:
    def __reduce__(self):
        return os.system, ("touch owned",)


def test_a_file_that_would_run_a_program_is_refused(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    file = next((copy / "step_3").glob("*_rank_1_*optim_states.pt"))
    data = torch.load(file, weights_only=False)
    torch.save({**data, "more": Hostile()}, file, pickle_module=pickle)
    answer = export(str(copy), str(tmp_path / "weights"), form="weights")
    assert ids(answer) == ["export-unpickles"] and "system" in answer["findings"][0]["saw"]
    assert not (tmp_path / "owned").exists() and not (tmp_path / "weights").exists()


def test_a_rank_that_is_missing_is_named(saved: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    next((copy / "step_3").glob("*_rank_0_*optim_states.pt")).unlink()
    answer = export(str(copy), str(tmp_path / "weights"), form="weights")
    assert answer["path"] is None and ids(answer)[0].startswith("checkpoint-ranks")
