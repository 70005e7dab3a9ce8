import logging, os, time, torch, torch.nn as nn, torch.distributed as dist
from datetime import timedelta
logger = logging.getLogger(__name__)
V, D = 4000, 256

class LM(nn.Module):
    def __init__(self):
        super().__init__(); self.emb = nn.Embedding(V, D); self.rnn = nn.GRU(D, D, batch_first=True); self.out = nn.Linear(D, V)
    def forward(self, x): return self.out(self.rnn(self.emb(x))[0])

def save_checkpoint(model, opt, step, folder):
    path = os.path.join(folder, f"checkpoint-{step}.pt")
    logger.info("Saving model checkpoint to %s", path)
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": step}, path)

def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=60)); rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARN, format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    out = os.environ.get("OUTPUT_DIR", "outputs"); os.makedirs(out, exist_ok=True)
    model = nn.parallel.DistributedDataParallel(LM()); opt = torch.optim.AdamW(model.parameters(), 1e-3)
    logger.info("***** Running training ***** params = %d", sum(p.numel() for p in model.parameters()))
    for step in range(1, 31):
        x = torch.randint(0, V, (4, 33)); loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad(); loss.backward(); opt.step()
        logger.info("step %d loss %.4f", step, loss.item())
        if step % 5 == 0:
            if rank == 0: save_checkpoint(model.module, opt, step, out)
            dist.barrier()
main()
