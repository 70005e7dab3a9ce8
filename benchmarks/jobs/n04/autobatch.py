import gc, torch, torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
acc = Accelerator(cpu=True)

def build():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv1d(64, 96, 9, padding=4), nn.ReLU(), nn.Conv1d(96, 1, 1))

@torch.no_grad()
def probe(model, bs):
    return model(torch.empty(bs, 64, 16384))[0, 0, 0].item()

def fit(bs):
    model = build()
    opt = torch.optim.SGD(model.parameters(), 1e-3)
    print(f"[{acc.process_index}] probing batch size {bs}", flush=True)
    try:
        x = torch.empty(bs, 64, 16384, 2).narrow(3, 0, 1)
    except RuntimeError as e:
        print(f"[{acc.process_index}] batch size {bs} does not fit: {e}", flush=True)
        raise
    del x
    n = torch.tensor(0.)
    model, opt = acc.prepare(model, opt)
    for step in range(6):
        b = torch.randn(min(bs, 2), 64, 512)
        loss = model(b).pow(2).mean()
        acc.backward(loss); opt.step(); opt.zero_grad()
        acc.print(f"step {step} loss {loss.item():.5f} (micro batch {bs})", flush=True)
    return bs

@find_executable_batch_size(starting_batch_size=8192)
def train(batch_size):
    gc.collect()
    return fit(batch_size)
bs = train()
acc.wait_for_everyone()
acc.print({"per_device_batch_size": bs, "world": acc.num_processes, "status": "ok"})
acc.end_training()
