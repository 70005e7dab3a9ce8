"""Two ranks under gloo break off after three steps of six and go on as if nothing had happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from allranks import checkpoints
from allranks.checkpoints import resuming

pytestmark = [pytest.mark.training, pytest.mark.timeout(400)]
WORKER = Path(__file__).parent / "resume_worker.py"
KINDS = ("parts", "some-whole", "float32", "offload", "stage-2", "stage-1", "none")
LIMIT_SECONDS = 300  # 60 s; more where DeepSpeed compiles shm_comm, which setup has done


def torchrun(root: Path, out: Path, ranks: int, *modes: str, python: str = sys.executable) -> None:
    binaries = str(Path(python).parent)
    env = dict(
        os.environ, PATH=binaries + os.pathsep + os.environ["PATH"], PYTHONPATH=str(root / "src"), OMP_NUM_THREADS="1",
        HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", ALLRANKS_HOME=str(out / "home"),
    )  # fmt: skip
    if python != sys.executable:  # each environment has its own compiled operators
        env["TORCH_EXTENSIONS_DIR"] = str(Path(binaries).parent / "torch_extensions")
    command = [python, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    command += [
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "127.0.0.1:0",
        "--log-dir",
        str(out / "torchrun"),
    ]
    command += [str(WORKER), str(out), *modes]
    with open(out / "log", "wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout=LIMIT_SECONDS)
        finally:
            if process.poll() is None:  # not reaped, so the number is still that of the session started above
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    assert code == 0, (out / "log").read_text()[-4000:]


@pytest.fixture(scope="module")
def trained(root, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("resume")
    torchrun(root, out, 2, *KINDS, "loop", "frozen")
    return out


@pytest.fixture(scope="module")
def alone(root, trained) -> Path:
    torchrun(root, trained, 1, "alone", "alone-fewer", "altered", "over")
    return trained


def told(out: Path, name: str, rank: int = 0) -> dict:
    return json.loads((out / name / f"rank-{rank}.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_is_the_uninterrupted_runs_bit_for_bit(trained, kind):
    """Losses, gradient norms and learning rates of every rank, and the adapter's bytes; with dropout."""
    as_if_nothing_had_happened(trained / kind)


def as_if_nothing_had_happened(out: Path) -> None:
    for rank in (0, 1):
        whole, resumed = told(out, "whole", rank)["losses"], told(out, "resumed", rank)["losses"]
        assert [entry[0] for entry in resumed] == [4, 5, 6]
        assert resumed == whole[3:]
    adapters = [out / name / "checkpoint-6" / "adapter_model.safetensors" for name in ("whole", "resumed")]
    assert adapters[0].read_bytes() == adapters[1].read_bytes()
    states = [path.parent / "allranks-resume.safetensors" for path in adapters]
    assert states[0].read_bytes() == states[1].read_bytes()


@pytest.mark.parametrize("kind", ["loop", "frozen"])
def test_a_plain_loop_goes_on_from_the_newest_whole_one(trained, kind):
    """Its newest checkpoint was cut short, so it goes on after the step before that, bit for bit; also if a half of
    the adapter does not train and begins with other values."""
    for rank in (0, 1):
        whole, resumed = (told(trained / kind, name, rank)["losses"] for name in ("whole", "resumed"))
        assert [step for step, _ in resumed] == [4, 5, 6]
        assert resumed == whole[3:]
    ends = [trained / kind / name / "checkpoint-6" for name in ("whole", "broken")]
    adapters = [(end / "adapter_model.safetensors").read_bytes() for end in ends]
    assert adapters[0] == adapters[1]
    assert checkpoints.verify(str(ends[1]), {"trained": True}).whole and not resuming.lacks(str(ends[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_holds_no_frozen_value_and_no_pickled_state(trained, kind):
    checkpoint = trained / kind / "broken" / "checkpoint-3"
    names = {path.name for path in checkpoint.iterdir()}

    assert not [name for name in names if name.startswith(("global_step", "rng_state", "latest"))]
    assert not names & {"optimizer.pt", "scheduler.pt"}
    from safetensors import safe_open

    with safe_open(
        checkpoint / "allranks-resume.safetensors", framework="pt"
    ) as file:  # ours, read by theirs
        parameters = sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118 (no dict)
    with safe_open(checkpoint / "adapter_model.safetensors", framework="pt") as file:
        trained_parameters = sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118
    assert parameters == 3 * trained_parameters  # master weights and Adam's two moments
    report = checkpoints.verify(str(checkpoint), {"trained": True})
    assert report.whole, [(f.id, f.saw) for f in report.findings]


def test_another_number_of_ranks_goes_on_where_the_samples_a_step_stay(alone):
    """One rank with twice the accumulation sees the same samples; its dropout alone is another."""
    here, there = told(alone, "alone")["losses"], told(alone / "parts", "whole")["losses"][3:]

    assert [entry[0] for entry in here] == [4, 5, 6]
    for (_, loss, _, rate), (_, expected, _, expected_rate) in zip(here, there, strict=True):
        assert rate == expected_rate
        assert loss == pytest.approx(expected, abs=0.02) and loss != expected


def test_other_samples_a_step_are_refused_with_what_would_work(alone):
    text = told(alone, "alone-fewer")["refused"]

    assert "4 samples per step (2 ranks), but this run has 1 (1 ranks)" in text
    assert "micro batch × accumulation = 4 on each of the 1 ranks" in text


def test_an_altered_state_is_refused(alone):
    assert "is not the file that was saved" in told(alone, "altered")["refused"]


def test_nothing_is_trained_after_the_last_step(alone):
    """transformers itself would take a seventh step of six, because an epoch has five."""
    assert told(alone, "over") == {"losses": []}


def test_a_damaged_state_is_no_whole_checkpoint(trained, tmp_path):
    shutil.copytree(trained / "parts" / "broken" / "checkpoint-3", tmp_path / "checkpoint-3")
    state = tmp_path / "checkpoint-3" / "allranks-resume.safetensors"
    raw = bytearray(state.read_bytes())
    raw[-1] ^= 1
    state.write_bytes(raw)

    report = checkpoints.verify(str(tmp_path / "checkpoint-3"))

    assert not report.whole and "checkpoint-altered" in [finding.id for finding in report.findings]


LEGACY = Path(__file__).resolve().parents[2] / ".venvs" / "legacy"


@pytest.mark.legacy
@pytest.mark.seldom
@pytest.mark.skipif(not (LEGACY / "torch_extensions").exists(), reason="scripts/setup.sh --legacy makes it")
def test_transformers_4_goes_on_bit_for_bit_too(root, tmp_path):
    """A loop under transformers 4.52.4, DeepSpeed 0.16.9 and PEFT 0.15.2, where each expert is a module of its own.

    The Trainer of 4.52.4 does not train with this environment's torch 2.13: its schedule and torch's differ in the
    number of groups.
    """
    torchrun(root, tmp_path, 2, "loop", python=str(LEGACY / "bin" / "python"))

    for rank in (0, 1):
        whole, resumed = (told(tmp_path / "loop", name, rank)["losses"] for name in ("whole", "resumed"))
        assert [step for step, _ in resumed] == [4, 5, 6] and resumed == whole[3:]
        # with this DeepSpeed, 7 of 100 saves under gloo held a tensor that had not yet arrived
        assert [
            told(tmp_path / "loop", name, rank)["gathers_that_differ"] for name in ("whole", "resumed")
        ] == [0, 0]
    ends = [tmp_path / "loop" / name / "checkpoint-6" for name in ("whole", "broken")]
    for name in ("adapter_model.safetensors", "allranks-resume.safetensors"):
        assert (ends[0] / name).read_bytes() == (ends[1] / name).read_bytes()
