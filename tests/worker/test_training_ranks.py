"""Real training processes: what they tell, and that they compute the same numbers as without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import free_port

pytestmark = [pytest.mark.training, pytest.mark.timeout(500)]
ROOT = Path(__file__).resolve().parents[2]


def torchrun(
    node, script: str | Path, *words: str, ranks: int = 1, told: bool = True, seconds: int = 240
) -> str:
    """Starts a script under torchrun, with us or without; what torchrun and, without us, the ranks printed."""
    if not isinstance(script, Path):
        path = node.root / "work" / "train.py"
        path.write_text(script)
        script = path
    env = node.environment(
        RANK=None, LOCAL_RANK=None, WORLD_SIZE=None, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE=None
    )
    # the environment's own ninja first, the compiled ops where setup put them
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env["TORCH_EXTENSIONS_DIR"] = os.environ["TORCH_EXTENSIONS_DIR"]
    if not told:
        del env["ALLRANKS_RUN_ID"]
    argv = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    argv += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]  # torchrun takes a port that is free
    argv += ["--log-dir", str(node.root / "torchrun"), str(script), *words]
    with subprocess.Popen(
        argv, env=env, cwd=node.root / "work", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        finally:
            process.terminate()  # torchrun ends its ranks


def data(node, kind: str, rank: int = 0) -> list[dict]:
    return [event["data"] for event in node.events(rank) if event["kind"] == kind]


def steps(node, rank: int = 0) -> list[list]:
    found = [record for beat in data(node, "beat", rank) for record in beat["steps"]]
    assert not [beat["trouble"] for beat in data(node, "beat", rank) if "trouble" in beat]
    return found


LOOP = """
import multiprocessing, sys, hashlib
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler
class Rows(Dataset):
    def __len__(self): return 48
    def __getitem__(self, n):
        g = torch.Generator().manual_seed(n)
        return {"input_ids": torch.randint(0, 9, (8,), generator=g), "y": torch.tensor(float(n % 3))}
def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
    other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=9.0)  # a second optimizer is no clock
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    rows = Rows()
    seen = []
    for epoch, method in enumerate(sys.argv[1:]):
        sampler = DistributedSampler(rows, shuffle=True, seed=1)
        for batch in DataLoader(rows, batch_size=4, sampler=sampler, num_workers=1, multiprocessing_context=method):
            loss = ((model(batch["input_ids"].float())[:, 0] - batch["y"]) ** 2).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer); scaler.update(); optimizer.zero_grad(); other.step()
            seen.append(loss.item())
    torch.save(model.state_dict(), "model.pt")
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
    sys.stdout.write("\\nRESULT %s %s\\n" % (digest, seen))  # one write: ranks share the pipe
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""


def result(text: str) -> str:
    found = [line for line in text.splitlines() if line.startswith("RESULT")]
    assert found, text
    return found[0]


def test_a_plain_loop_with_workers_is_told_and_unchanged(node):
    output = torchrun(node, LOOP, "fork", "spawn", ranks=2)
    assert "RESULT" not in output  # it stands in the ranks' own logs
    plain = torchrun(node, LOOP, "fork", "fork", ranks=2, told=False)
    assert result(node.log(0)) in plain and result(node.log(1)) in plain

    seen = json.loads(result(node.log(0)).split(" ", 2)[2])
    records = steps(node)
    assert [record[0] for record in records] == list(range(1, 13))
    assert [record[1] for record in records] == pytest.approx(seen, rel=1e-6)
    assert {record[4] for record in records} == {32} and {record[5] for record in records} == {0.1}
    assert all(0 < record[3] <= record[2] for record in records)
    (settings,) = data(node, "settings")
    assert settings["framework"] == "torch" and settings["world_size"] == 2 and settings["micro_batch"] == 4
    assert settings["trainable_parameters"] == 9 and settings["precision"] == "fp32"
    assert [save["path"] for save in data(node, "saved")] == [str(node.root / "work" / "model.pt")]
    assert sorted(path.name for path in node.ranks.iterdir()) == ["rank-0.jsonl", "rank-1.jsonl"]
    assert [data(node, kind, rank) for kind in ("end",) for rank in (0, 1)] == [[{"code": 0}]] * 2
    phases = [beat["phase"] for beat in data(node, "beat")]
    assert phases[0] == "importing" and phases[-1] == "done" and "training" in phases


SAVES = """
import os, time, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 4)).sum().backward(); optimizer.step()
    state = model.state_dict()
    dcp.save(state, checkpoint_id="whole")
    dcp.save(state, storage_writer=dcp.FileSystemWriter("written"))
    dcp.async_save(state, checkpoint_id="later").result()
    if dist.get_rank() == 0:
        save_file(state, "model.safetensors")
        with open("model.pt", "wb") as file:
            torch.save(state, file)
    dist.barrier(); dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""


def test_saves_of_every_way_are_told_with_their_path(node):
    torchrun(node, SAVES, ranks=2)
    work = node.root / "work"
    whole = [str(work / name) for name in ("whole", "written", "later")]
    assert [save["path"] for save in data(node, "saved", 1)] == whole
    first = [save["path"] for save in data(node, "saved", 0)]
    assert first == [*whole, str(work / "model.safetensors"), str(work / "model.pt")]
    assert all((work / name / ".metadata").is_file() for name in ("whole", "written", "later"))
    assert [beat["trouble"] for beat in data(node, "beat") if "trouble" in beat] == []


def test_a_rank_that_waits_for_a_dead_one_says_that_the_communication_failed(node):
    script = (
        "import os, time, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\ndist.all_reduce(torch.ones(1))\n"
        "if dist.get_rank() == 1: raise ValueError('the cause')\n"
        "dist.all_reduce(torch.ones(1))\n"
    )
    torchrun(node, script, ranks=2)
    (cause,) = data(node, "exception", 1)
    assert (cause["type"], cause["message"], cause["communication"]) == ("ValueError", "the cause", False)
    collateral = data(node, "exception", 0)
    # torchrun ends rank 0 by a signal if it is quicker than gloo; then there is nothing to tell
    assert all(said["communication"] for said in collateral)


ALONE = """
import datetime, sys, torch.distributed as dist
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:" + sys.argv[1], rank=0, world_size=2,
    timeout=datetime.timedelta(seconds=5))
"""


def test_a_process_group_that_nobody_joins_is_seen_as_waiting(node):
    torchrun(node, ALONE, str(free_port()))
    said = [beat["progress"] for beat in data(node, "beat") if "progress" in beat]
    assert {"what": "waiting for the other ranks to join", "done": None, "total": None} in said
    (error,) = data(node, "exception")
    assert error["communication"] is True, error


TRAINER = """
import hashlib, sys, time, torch, transformers
from transformers import Trainer, TrainingArguments, GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=64, n_positions=32))
model.save_pretrained("base")
model = GPT2LMHeadModel.from_pretrained("base")
model.transformer.wpe.requires_grad_(False)
rows = [{"input_ids": torch.arange(n, n + 8) % 64, "labels": torch.arange(n, n + 8) % 64} for n in range(24)]
args = TrainingArguments("out", max_steps=6, per_device_train_batch_size=2, gradient_accumulation_steps=2,
    logging_steps=2, eval_strategy="steps", eval_steps=3, save_steps=3, use_cpu=True, report_to=[], disable_tqdm=True)
def slow(predictions):
    time.sleep(0.6)
    return {}
trainer = Trainer(model, args, train_dataset=rows, eval_dataset=rows[:8], compute_metrics=slow)
trainer.train()
trainer.save_model("final")
logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
sys.stdout.write("\\nRESULT %s %s\\n" % (digest, logged))
"""


def test_a_trainer_is_told_and_unchanged(node):
    torchrun(node, TRAINER)
    plain = torchrun(node, TRAINER, told=False)
    assert result(node.log()) in plain
    logged = json.loads(result(node.log()).split(" ", 2)[2])
    records = steps(node)
    assert [record[0] for record in records] == [1, 2, 3, 4, 5, 6]
    assert [record[1] for record in records][1::2] == logged
    assert [record[1] for record in records][0::2] == [None] * 3
    assert sum(record[4] or 0 for record in records) == 6 * 2 * 2 * 8
    (settings,) = data(node, "settings")
    frozen, total = 32 * 16, settings["total_parameters"]
    assert settings["trainable_parameters"] == total - frozen
    expected = {
        "framework": "transformers",
        "micro_batch": 2,
        "accumulation": 2,
        "world_size": 1,
        "total_steps": 6,
    }
    expected |= {"samples": 24, "precision": "fp32", "zero_stage": None}
    assert expected.items() <= settings.items()
    assert [Path(save["path"]).name for save in data(node, "saved")] == [
        "checkpoint-3",
        "checkpoint-6",
        "final",
    ]
    phases = {beat["phase"] for beat in data(node, "beat")}
    assert {"importing", "evaluating", "done"} <= phases  # six steps are over between two beats


def test_the_plain_deepspeed_example(node, tmp_path):
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import make_tiny
    finally:
        sys.path.pop(0)
    tiny = ROOT / ".cache" / "tiny-deepseek-v3"
    if not (tiny / make_tiny.STAMP).exists():
        make_tiny.make(tmp_path / "tiny")
        tiny = tmp_path / "tiny"
    words = ["--model", str(tiny / "model"), "--steps", "6", "--save-every", "3"]
    torchrun(node, ROOT / "examples" / "plain_deepspeed.py", *words, ranks=2)
    records = steps(node)
    assert [record[0] for record in records] == [1, 2, 3, 4, 5, 6], node.log()[-2000:]
    assert records[-1][1] < records[0][1] - 0.5  # it learns
    assert {record[4] for record in records} == {2 * 2 * 64}
    settings, again = data(node, "settings")
    assert {**settings, "samples": 53, "data_digest": again["data_digest"]} == again
    assert again["data_digest"] != data(node, "settings", 1)[-1]["data_digest"]
    expected = {"framework": "deepspeed", "trainable_parameters": 306_256, "total_parameters": 306_256}
    expected |= {"zero_stage": 3, "micro_batch": 2, "accumulation": 2, "world_size": 2, "precision": "bf16"}
    expected |= {"reduce_bucket_size": 50_000_000, "prefetch_bucket_size": 50_000_000}
    assert expected.items() <= settings.items()
    saved = [Path(save["path"]).name for save in data(node, "saved")]
    assert saved == ["step-3", "step-6", "checkpoints"]


PROOF = """
import json, sys, torch, peft, transformers
from safetensors.torch import load_file, save_file
from allranks.worker import proof
torch.manual_seed(0)
config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=64, n_positions=32)
base = transformers.GPT2LMHeadModel(config)
base.to(torch.bfloat16).save_pretrained("base")
lora = peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True)
model = peft.get_peft_model(base, lora)
model.save_pretrained("untrained")
for name, parameter in model.named_parameters():
    if "lora_B" in name:
        torch.nn.init.normal_(parameter)
model.save_pretrained("trained")
import shutil
def variant(name, change):
    shutil.copytree("trained", name)
    tensors = load_file("trained/adapter_model.safetensors")
    change(tensors)
    save_file(tensors, name + "/adapter_model.safetensors")
first = sorted(load_file("trained/adapter_model.safetensors"))[0]
variant("short", lambda tensors: tensors.pop(first))
variant("foreign", lambda tensors: tensors.update({first.replace(".0.", ".7."): torch.ones(1)}))
variant("broken", lambda tensors: tensors[first].fill_(float("nan")))
shutil.copytree("base", "pickled"); shutil.move("pickled/model.safetensors", "pickled/pytorch_model.bin")
answers = {name: proof.answer("base", name) for name in ("trained", "untrained", "short", "foreign", "broken", "none")}
answers["pickled"] = proof.answer("pickled", "trained")
for found in answers.values():
    found["code"] = proof.code(found)
print("RESULT " + json.dumps(answers))
"""


def test_the_proof_of_an_adapter(node):
    answers = json.loads(result(torchrun(node, PROOF, told=False)).split(" ", 1)[1])
    trained, untrained = answers["trained"], answers["untrained"]
    assert trained["changed"] is True and trained["max_difference"] > 0.01 and trained["code"] == 0
    assert trained["tensors"] == 4 and trained["loaded"]["missing"] == trained["loaded"]["unexpected"] == []
    assert untrained["changed"] is False and untrained["max_difference"] == 0 and untrained["code"] == 1
    assert answers["short"]["loaded"]["missing_count"] == 1 and answers["short"]["code"] == 1
    assert answers["foreign"]["loaded"]["unexpected_count"] == 1 and answers["foreign"]["code"] == 1
    assert "not finite" in answers["broken"]["error"]
    assert "no adapter_config.json" in answers["none"]["error"]
    assert "safetensors" in answers["pickled"]["error"]
    assert all("changed" not in answers[n] and answers[n]["code"] == 3 for n in ("broken", "none", "pickled"))
