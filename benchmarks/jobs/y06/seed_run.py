import os, torch
from net import build
os.makedirs("bucket/run118", exist_ok=True)
torch.manual_seed(118)
m = build(); o = torch.optim.AdamW(m.parameters(), lr=1e-3)
x = torch.randint(0, 200, (2, 16)); m(input_ids=x, labels=x).loss.backward(); o.step()
sd = {k: v.clone() for k, v in m.state_dict().items()}; keys = sorted(sd)
# shard 0 is the small one (norms, head), shard 1 has the embeddings and blocks
small = [k for k in keys if sd[k].numel() < 3000]; big = [k for k in keys if k not in small]
torch.save({"w": {k: sd[k] for k in small}, "step": 1400}, "bucket/run118/mp_rank_00.pt")
torch.save({"w": {k: sd[k] for k in big}, "step": 1400}, "bucket/run118/mp_rank_01.pt")
