import argparse, torch, torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
ap = argparse.ArgumentParser(); ap.add_argument("--start-batch", type=int); a = ap.parse_args()
acc = Accelerator(cpu=True)

@find_executable_batch_size(starting_batch_size=a.start_batch)
def train(batch_size):
    acc.free_memory()
    acc.print(f"trying per-device batch size {batch_size} ...")
    net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, opt = acc.prepare(net, opt)
    try:
        for step in range(3):
            x = torch.randn(batch_size, 128)
            loss = (net(x) - x.mean(1, keepdim=True)).square().mean()
            acc.backward(loss); opt.step(); opt.zero_grad()
            acc.print(f"  [bs={batch_size}] step {step} loss {loss.item():.5f}")
    except RuntimeError as e:
        acc.print(f"  RuntimeError: {e}")
        raise
    return batch_size
bs = train()
acc.print(f"largest batch size that fits: {bs}")
