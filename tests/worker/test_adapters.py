"""Two ranks under gloo save the same weights by stock's way and by ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import allranks
from allranks import checkpoints
from allranks.checkpoints import resuming
from allranks.worker import gather_check

WORKER = Path(__file__).parent / "adapter_worker.py"
KINDS = (
    "parts",
    "some-whole",
    "all-whole",
    "float32",
    "saved-modules",
    "fused-experts",
    "offload",
    "stage-2",
    "stage-1",
)
FILES = ("adapter_model.safetensors", "adapter_config.json", "README.md")
LIMIT_SECONDS = 400  # 35 s; more where DeepSpeed compiles shm_comm, which setup has done


@pytest.fixture(scope="module")
def trained(root, tmp_path_factory):
    """One torchrun of two ranks through all kinds: (output folder, rank 0's results, rank 1's)."""
    out = tmp_path_factory.mktemp("adapters")
    binaries = str(Path(sys.executable).parent)
    env = dict(
        os.environ, PATH=binaries + os.pathsep + os.environ["PATH"], PYTHONPATH=str(root / "src"), OMP_NUM_THREADS="1",
        HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", ALLRANKS_HOME=str(out / "home"),
    )  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--rdzv-backend",
        "c10d",
    ]
    command += [
        "--rdzv-endpoint",
        "127.0.0.1:0",
        "--log-dir",
        str(out / "torchrun"),
        str(WORKER),
        str(out),
        *KINDS,
        "continues",
        "wrongly-gathered",
        "fills-up",
    ]
    with open(out / "log", "wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout=LIMIT_SECONDS)
        finally:
            if process.poll() is None:  # not reaped, so the number is still that of the session started above
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    assert code == 0, (out / "log").read_text()[-4000:]
    return out, *(json.loads((out / f"rank-{rank}.json").read_text()) for rank in (0, 1))


@pytest.mark.training
@pytest.mark.parametrize("kind", KINDS)
def test_ours_is_stocks_byte_for_byte(trained, kind):
    out = trained[0] / kind

    for name in FILES:
        stock = (out / "stock" / name).read_bytes()
        assert (out / "ours" / name).read_bytes() == stock
        assert (out / "loop" / name).read_bytes() == stock
    assert (out / "checkpoint-2" / FILES[0]).read_bytes() == (out / "stock" / FILES[0]).read_bytes()
    assert (out / "checkpoint-1" / FILES[0]).read_bytes() != (out / "stock" / FILES[0]).read_bytes()


@pytest.mark.training
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_whole(trained, kind):
    out, first, _ = trained
    for name in ("checkpoint-1", "checkpoint-2", "ours", "loop", "stock"):
        expect = {"trained": True, "trainable_parameters": first[kind]["trained"], "rank": 4, "alpha": 8}
        report = checkpoints.verify(str(out / kind / name), expect)
        assert report.whole, [(f.id, f.saw) for f in report.findings]
        assert report.step == {"checkpoint-1": 1, "stock": None}.get(name, 2)
    manifest = json.loads((out / kind / "loop" / "allranks.json").read_text())
    assert manifest["world_size"] == 2 and manifest["versions"]["peft"]
    assert manifest["exact"] == (gather_check.WHOLE if "stage" in kind else gather_check.PROVED)
    assert "gathered_again" not in manifest
    assert manifest["allranks"] == allranks.__version__ and manifest["saved_at"] > 0
    told = json.loads((out / kind / "checkpoint-2" / "allranks.json").read_text())["settings"]
    assert told["micro_batch"] > 0 and told["learning_rate"] > 0 and isinstance(told["schedule"], str)


@pytest.mark.training
@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_saved_is_gathered(trained, kind):
    for results in trained[1:]:
        ours, stock = results[kind]["ours"], results[kind]["stock"]
        assert ours["frozen"] == 0
        assert ours["trained"] <= stock["trained"]
        assert results[kind]["gathered"] == ours["trained"]
        assert results[kind]["released"] == 0  # what ZeRO-3 keeps whole is whole after the save
        if "stage" not in kind:
            assert stock["frozen"] > 5 * ours["trained"]
    assert trained[1]["all-whole"]["ours"]["trained"] == 0
    assert trained[1][kind]["path"] and trained[2][kind]["path"] is None


@pytest.mark.training
def test_a_run_goes_on_as_if_stock_had_saved(trained):
    ours, stock = (trained[0] / "continues" / name / "checkpoint-3" / FILES[0] for name in ("ours", "stock"))

    assert ours.read_bytes() == stock.read_bytes()


@pytest.mark.training
def test_a_tensor_that_is_not_what_a_rank_holds_is_gathered_again(trained):
    out, told = trained[0] / "wrongly-gathered", trained[1]["wrongly-gathered"]
    right = (out / "right" / FILES[0]).read_bytes()

    for way, name in (("once", told["name"]), ("kept", told["kept"])):
        manifest = json.loads((out / way / "allranks.json").read_text())
        assert (manifest["exact"], manifest["gathered_again"]) == (gather_check.PROVED, [name])
        assert (out / way / FILES[0]).read_bytes() == right
        assert "gathered again: 1" in checkpoints.verify(str(out / way)).findings[0].saw


@pytest.mark.training
def test_one_that_stays_wrong_is_refused_on_every_rank(trained):
    out, ranks = trained[0] / "wrongly-gathered", [results["wrongly-gathered"] for results in trained[1:]]

    for told in ranks:
        for way in ("always", "trainer"):
            assert told[way].startswith(f"the gathered {told['name']} is not what rank 1 holds")
    assert not (out / "always").exists() and not (out / "trainer").exists()
    assert (out / "after" / FILES[0]).read_bytes() == (out / "right" / FILES[0]).read_bytes()


@pytest.mark.training
def test_parts_that_cannot_be_read_are_said_and_saved(trained):
    out = trained[0] / "wrongly-gathered" / "unread"

    exact_or_not = json.loads((out / "allranks.json").read_text())["exact"]
    assert exact_or_not == "not looked at: the parts are divided among other groups than all ranks"
    report = checkpoints.verify(str(out))
    assert report.whole and exact_or_not in report.findings[0].saw


@pytest.mark.training
def test_a_disk_that_fills_up_while_it_is_written_costs_the_checkpoint_alone(trained):
    out, told = trained[0] / "fills-up", trained[1]["fills-up"]

    assert [(kind, step) for kind, step, _ in told] == [("save-skipped", 1), ("save-skipped", 2)]
    assert "No space left" in told[0][2] and "quota" in told[1][2]
    assert trained[2]["fills-up"] == []  # one rank tells of it, and both went on
    assert not (out / "checkpoint-1").exists()
    assert not checkpoints.verify(str(out / "checkpoint-2")).whole
    last = out / "checkpoint-3"
    assert checkpoints.verify(str(last)).whole and (last / "trainer_state.json").exists()
    found = resuming.find_resume(str(out), None, None, None)["found"]
    assert found["path"] == str(last)


class Sized:
    """As much of a parameter as cutting needs."""

    def __init__(self, size: int):
        self.ds_numel = size

    def element_size(self) -> int:
        return 2

    def numel(self) -> int:
        return 0


def test_pieces_are_bounded_and_keep_the_order():
    from allranks.worker.adapters import pieces

    parts = [(str(n), Sized(size)) for n, size in enumerate((3, 3, 5, 20, 1, 1))]

    cut = [[name for name, _ in piece] for piece in pieces(parts, 16)]

    assert cut == [["0", "1"], ["2"], ["3"], ["4", "5"]]
    assert pieces([], 16) == []


def test_a_trainer_without_deepspeed_saves_as_before():
    from allranks.worker import trainer_checkpoints

    saves = []

    class Trainer:
        is_deepspeed_enabled = False

        def save_model(self, output_dir=None, _internal_call=False):
            saves.append((output_dir, _internal_call))

    module = SimpleNamespace(Trainer=Trainer)
    assert trainer_checkpoints.patch_trainer(module) is True
    assert trainer_checkpoints.patch_trainer(module) is False
    Trainer().save_model("out", _internal_call=True)

    assert saves == [("out", True)]
