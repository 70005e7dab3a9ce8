"""The ranks of `benchmarks/save_kill.py`: a tiny adapter, saved after every step until somebody kills it.

_kill_rank.py OUT

Imports the libraries once and then forks two ranks for each line of its standard input, which costs a try two
seconds in the place of twenty. A line is the folder of that try's marks; the answer is the two pids. The next line
ends what is left of them and answers with how each ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import deepspeed
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from allranks.worker.deepspeed_loop import Checkpoints

RANKS = 2
SURVIVES_SECONDS = 10.0
"""A rank whose partner has died hears of it by gloo's broken connection; then it is ended, as a supervisor does."""


def train(out: Path, marks: Path, rank: int) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS))
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{marks}/store", rank=rank, world_size=RANKS
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4}
    base = LlamaForCausalLM(LlamaConfig(vocab_size=128, **sizes))
    model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    trained = [p for p in model.parameters() if p.requires_grad]
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
    }
    engine, *_ = deepspeed.initialize(
        model=model, config=config, optimizer=torch.optim.AdamW(trained, lr=1e-2), model_parameters=trained
    )
    checkpoints = Checkpoints(engine, str(out / "run"), every=1)
    step = checkpoints.resume()
    mark(marks, rank, "begun", step)
    while True:
        step += 1
        ids = torch.randint(0, 128, (1, 16))
        engine.backward(engine(input_ids=ids, labels=ids).loss)
        engine.step()
        mark(marks, rank, "saving", step)
        checkpoints.step(step)
        mark(marks, rank, "saved", step)


def mark(marks: Path, rank: int, name: str, step: int) -> None:
    """Replaced, so that who looks sees a whole number."""
    if rank == 0:
        (marks / "new").write_text(str(step))
        (marks / "new").replace(marks / name)


def fork(out: Path, marks: Path, rank: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        log = os.open(marks / f"log-{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        train(out, marks, rank)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(pids: list[int]) -> list[int]:
    """The wait status of each rank; what does not end by itself is ended. Nobody else reaps them, so a pid is
    theirs until here."""
    deadline, found = time.monotonic() + SURVIVES_SECONDS, {}
    while len(found) < len(pids):
        for pid in (one for one in pids if one not in found):
            seen, status = os.waitpid(pid, os.WNOHANG)
            if seen:
                found[pid] = status
            elif time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return [found[pid] for pid in pids]


def main() -> None:
    out, pids = Path(sys.argv[1]), []
    print("ready", flush=True)
    for line in sys.stdin:
        if pids:
            statuses, pids = ended(pids), []
            print(json.dumps(statuses), flush=True)
        if line.strip():
            pids = [fork(out, Path(line.strip()), rank) for rank in range(RANKS)]
            print(json.dumps(pids), flush=True)
    ended(pids) if pids else None


main()
