"""A gloo training that saves every five steps and goes on from its newest save; one rank kills itself, once, in
steady training: some 20 s after the first step.

Every moment of every attempt is a line `{attempt, rank, what, at}` of RESTART_DIR/moments.
"""

import json
import os
import signal
import time
from pathlib import Path

PLACE = Path(os.environ["RESTART_DIR"])
RANK = int(os.environ["RANK"])
KILLED_AT, STEPS = 162, 180
ATTEMPT = int((PLACE / "killed").exists())


def moment(what: str) -> None:
    line = json.dumps({"attempt": ATTEMPT, "rank": RANK, "what": what, "at": time.time()}) + "\n"
    with (PLACE / "moments").open("a") as file:
        file.write(line)


moment("begun")
import torch  # noqa: E402 (the start of Python and the import of torch are two phases)
import torch.distributed as dist  # noqa: E402

moment("imported")
dist.init_process_group("gloo")
moment("joined")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Linear(512, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
first, save = 0, PLACE / "save.pt"
if save.exists():
    state = torch.load(save, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"] + 1
dist.barrier()
moment("loaded")
for step in range(first, STEPS):
    loss = model(torch.full((8, 512), float(step) + RANK / 16)).pow(2).mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
    if step == first:
        moment("stepped")
    if step % 5 == 4:
        if RANK == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, PLACE / "draft.pt")
            (PLACE / "draft.pt").replace(save)
        dist.barrier()
    if RANK == 1 and ATTEMPT == 0 and step == KILLED_AT:
        moment("killed")
        (PLACE / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
dist.destroy_process_group()
