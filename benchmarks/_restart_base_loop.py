"""A LoRA-like training on a base under ZeRO-3 that saves every step and goes on from its save. The base is frozen,
except for its last norm. One rank kills itself, once, a minute after the first step: by then the next attempt is on
standby, as in any steady run. A step is one text of two tokens, since the ranks share this machine's cores.

Moments as in `_restart_loop.py`: RESTART_DIR/moments. RESTART_BASE is the model's folder.
"""

import json
import os
import signal
import time
from pathlib import Path

PLACE, BASE = Path(os.environ["RESTART_DIR"]), os.environ["RESTART_BASE"]
RANK = int(os.environ["RANK"])
STEADY_SECONDS = 60.0
ATTEMPT = int((PLACE / "killed").exists())


def moment(what: str) -> None:
    line = json.dumps({"attempt": ATTEMPT, "rank": RANK, "what": what, "at": time.time()}) + "\n"
    with (PLACE / "moments").open("a") as file:
        file.write(line)


moment("begun")
import deepspeed  # noqa: E402 (the start of Python and the imports are two phases)
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402
from transformers.integrations import HfDeepSpeedConfig  # noqa: E402

moment("imported")
deepspeed.init_distributed("gloo")
moment("joined")
CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3},
    "zero_allow_untested_optimizer": True,
}
kept = HfDeepSpeedConfig(CONFIG)
model = AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.bfloat16)
model.requires_grad_(False)
trained = model.model.norm.weight.requires_grad_()
engine = deepspeed.initialize(model=model, config=CONFIG, optimizer=torch.optim.AdamW([trained], lr=1e-3))[0]
first, save = 0, PLACE / "save.json"
if save.exists():
    state = json.loads(save.read_text())
    with deepspeed.zero.GatheredParameters([trained], modifier_rank=0):
        if RANK == 0:
            trained.data.copy_(torch.tensor(state["weight"]))
    first = state["step"] + 1
dist.barrier()
moment("loaded")
texts = torch.Generator().manual_seed(RANK)
began, step, ends = time.monotonic(), first, False
while not ends:
    ids = torch.randint(0, 1000, (1, 2), generator=texts)
    engine.backward(engine(input_ids=ids, labels=ids).loss)
    engine.step()
    if step == first:
        moment("stepped")
    with deepspeed.zero.GatheredParameters([trained]):
        if RANK == 0:
            draft = PLACE / "draft.json"
            draft.write_text(json.dumps({"step": step, "weight": trained.data.float().tolist()}))
            draft.replace(save)
    steady = torch.tensor(float(RANK == 0 and time.monotonic() - began > STEADY_SECONDS))
    dist.broadcast(steady, 0)  # so that all ranks end, or lose their peer, behind the same step
    if steady and ATTEMPT == 0 and RANK == 1:
        moment("killed")
        (PLACE / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    ends = ATTEMPT == 1 and step > first
    step += 1
dist.destroy_process_group()
