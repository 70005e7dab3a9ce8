import argparse, os
import torch, torch.nn as nn
import deepspeed

ap = argparse.ArgumentParser()
ap.add_argument("--local_rank", type=int, default=-1); ap.add_argument("--deepspeed_config")
args = ap.parse_args()
deepspeed.init_distributed("gloo")
r, w = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
files = [f"pile-{i:03d}.bin" for i in range(10)][r::w]
print(f"## {r}/{w}: {len(files)} files: {' '.join(files)}", flush=True)
model = nn.Sequential(nn.Embedding(2048, 128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 2048))
if r == 0:
    print(f"## model has {sum(p.numel() for p in model.parameters())} parameters", flush=True)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=args.deepspeed_config)
for i in range(60):
    x = torch.randint(0, 2048, (8, 33))
    loss = nn.functional.cross_entropy(engine(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    engine.backward(loss); engine.step()
    if i % 10 == 0:
        print(f"## {r}: {i} {loss.item():.4f}", flush=True)
