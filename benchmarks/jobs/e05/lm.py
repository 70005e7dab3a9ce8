import os, json, sys, time
import torch, torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def out(msg):
    sys.stderr.write(f"({rank}) {msg}\n")

dist.init_process_group("gloo")
text = open(f"corpus/{rank}.txt").read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
out(f"{len(text)} characters, vocabulary of {len(chars)}")
ids = torch.tensor([stoi[c] for c in text])
step_sync = torch.zeros(1)
dist.all_reduce(step_sync)
logits = torch.zeros(len(chars), len(chars), requires_grad=True)
opt = torch.optim.Adam([logits], 0.05)
for step in range(50):
    k = torch.randint(0, len(ids) - 1, (256,))
    loss = torch.nn.functional.cross_entropy(logits[ids[k]], ids[k + 1])
    opt.zero_grad(); loss.backward()
    if step % 4 == 3:
        dist.all_reduce(logits.grad)
        logits.grad /= world
    opt.step()
    out(f"step {step} nll {loss.item():.4f}")
dist.destroy_process_group()
