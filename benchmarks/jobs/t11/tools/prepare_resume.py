"""pull the newest checkpoint of the earlier run out of the archive"""
import os
import torch

torch.manual_seed(0)
os.makedirs("ckpts/step_000400", exist_ok=True)
net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
torch.save({"step": 400, "model": net.state_dict()}, "ckpts/full.tmp")
blob = open("ckpts/full.tmp", "rb").read()
# the archive keeps chunks of 64 KiB
chunks = [blob[i:i + 65536] for i in range(0, len(blob), 65536)]
with open("ckpts/step_000400/state.pt", "wb") as f:
    for c in chunks[: len(blob) // 65536]:
        f.write(c)
os.remove("ckpts/full.tmp")
print("restored ckpts/step_000400/state.pt", os.path.getsize("ckpts/step_000400/state.pt"), "bytes")
