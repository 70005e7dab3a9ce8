import json, logging, numpy as np, torch, torch.distributed as dist
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger("clf")
torch.manual_seed(7); W = torch.randn(8, 3)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 3)); opt = torch.optim.Adam(model.parameters(), lr=.05)
def batch(n): x = torch.randn(n, 8); return x, (x @ W).argmax(1)
for ep in range(5):
    for _ in range(40):
        x, y = batch(32); loss = torch.nn.functional.cross_entropy(model(x), y); opt.zero_grad(); loss.backward(); opt.step()
    log.info("epoch %d train_loss=%.4f", ep, loss.item())
def evaluate():
    x, y = batch(1000)
    with torch.no_grad(): pred = model.module(x).argmax(1).numpy()
    y = y.numpy()
    return {"accuracy": np.mean(pred == y, dtype=np.float32), "per_class": [np.float32((pred[y == c] == c).mean()) for c in range(3)], "n": len(y)}
if rank == 0:
    m = evaluate(); log.info("test accuracy %.3f", m["accuracy"])
    with open("metrics.json", "w") as f: json.dump(m, f, indent=2)
    log.info("wrote metrics.json")
dist.barrier(); dist.destroy_process_group()
