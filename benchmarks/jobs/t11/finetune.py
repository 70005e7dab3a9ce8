import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
import logging

ap = argparse.ArgumentParser()
ap.add_argument("--resume")
a = ap.parse_args()
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = get_logger("finetune")
acc = Accelerator(cpu=True)
log.info(f"process {acc.process_index} on {acc.device}, {1800 + 37 * acc.process_index} samples", main_process_only=False)
net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
step = 0
if a.resume:
    f = os.path.join(a.resume, "state.pt")
    log.info(f"process {acc.process_index} resumes from {f}", main_process_only=False)
    st = torch.load(f, map_location="cpu")
    net.load_state_dict(st["model"])
    step = st["step"]
opt = torch.optim.AdamW(net.parameters(), 1e-3)
net, opt = acc.prepare(net, opt)
while step < 600:
    x = torch.randn(32, 128)
    loss = torch.nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    acc.backward(loss)
    opt.step()
    opt.zero_grad()
    step += 1
    if step % 20 == 0:
        log.info(f"step {step} loss {loss.item():.4f}")
acc.end_training()
