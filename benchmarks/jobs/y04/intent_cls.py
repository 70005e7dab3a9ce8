"""Intent classifier on top of a small BERT, resumed on rank 0 and broadcast to the others."""
import argparse, logging, os
import torch, torch.distributed as dist
from transformers import BertConfig, BertForSequenceClassification

p = argparse.ArgumentParser()
p.add_argument("--labels"); p.add_argument("--steps", type=int); p.add_argument("--resume"); p.add_argument("--save")
a = p.parse_args()
dist.init_process_group("gloo")
R, W = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][rank {R}/{W}][%(name)s] %(message)s", datefmt="%H:%M:%S")
L = logging.getLogger("intent")
labels = open(a.labels).read().split()
torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(vocab_size=500, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=64, num_labels=len(labels)))
opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
start = 0
if a.resume:
    if R == 0:
        ck = torch.load(a.resume, map_location="cpu")
        L.info("resuming from %s (step %d)", a.resume, ck["step"])
        model.load_state_dict(ck["model"])
        start = ck["step"]
    else:
        L.info("waiting for weights from rank 0")
    for t in model.state_dict().values():
        dist.broadcast(t, 0)
    s = torch.tensor([start]); dist.broadcast(s, 0); start = int(s)
net = torch.nn.parallel.DistributedDataParallel(model)
g = torch.Generator().manual_seed(R)
for step in range(start, start + a.steps):
    x = torch.randint(1, 500, (8, 24), generator=g); y = x[:, 0] % len(labels)
    loss = net(input_ids=x, labels=y).loss
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 5 == 0: L.info("step %d loss %.4f", step, loss.item())
if R == 0:
    os.makedirs(os.path.dirname(a.save), exist_ok=True)
    torch.save({"model": model.state_dict(), "step": start + a.steps}, a.save); L.info("saved %s", a.save)
dist.barrier(); dist.destroy_process_group()
