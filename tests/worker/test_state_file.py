"""Two ranks write one file: in place where both see it, by rank 0 where the other does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]
WORKER = Path(__file__).parent / "state_file_worker.py"


@pytest.fixture(scope="module")
def written(root, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("state")
    env = dict(os.environ, PYTHONPATH=str(root / "src"), OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    ranks = [subprocess.Popen([sys.executable, str(WORKER), str(out), str(rank)], env=env) for rank in (0, 1)]
    try:
        assert [rank.wait(240) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            if rank.poll() is None:  # not reaped: the number is still that of the process started above
                rank.kill()
                rank.wait()
    return out


@pytest.mark.parametrize("name", ["cut", "stretch"])
@pytest.mark.parametrize("way", ["direct", "sent"])
def test_each_value_is_in_its_place(written, name, way):
    import torch
    from safetensors.torch import load_file

    found = load_file(written / f"{name}-{way}")
    whole = {
        "a": torch.arange(15.0).reshape(3, 5),
        "b": torch.arange(100.0, 107.0),
        "c": torch.arange(-4.0, 0.0),
    }
    wanted = {f"master/{key}": value for key, value in whole.items()}
    wanted.update({f"exp_avg/{key}": value * 2 for key, value in whole.items()})
    assert set(found) == set(wanted)
    assert all(torch.equal(found[key], value) for key, value in wanted.items())


@pytest.mark.parametrize("name", ["cut", "stretch"])
def test_no_byte_passes_between_ranks_that_see_the_file(written, name):
    assert [(written / f"{name}-direct.sent-{rank}").read_text() for rank in (0, 1)] == ["0", "0"]
    assert (written / f"{name}-sent.sent-0").read_text() == "0"
    assert int((written / f"{name}-sent.sent-1").read_text()) >= 26 // 2 * 4 * 2 - 16


def test_a_file_that_cannot_be_made_is_rank_0s_error_and_holds_nobody_up(written):
    assert (written / "refused-0").read_text() == "FileNotFoundError"
    assert (written / "refused-1").read_text() == "nothing"
