import os, torch, torch.distributed as dist
dist.init_process_group("gloo"); rank = dist.get_rank()
CK = "ner_state.pt"
def info(m): print(f"ner:{rank}: {m}")
torch.manual_seed(0)
net = torch.nn.Linear(30, 9); ddp = torch.nn.parallel.DistributedDataParallel(net); opt = torch.optim.SGD(ddp.parameters(), 0.1)
first, done = 0, set()
if os.path.exists(CK):
    st = torch.load(CK); net.load_state_dict(st["net"]); first = st["step"]; done = set(st["quarantine"])
    info(f"restart {os.environ.get('TORCHELASTIC_RESTART_COUNT')}: continuing at step {first}, quarantined documents {sorted(done)}")
class Doc:
    def __init__(self, i):
        self.i = i; self.spans = [(3, 9)] if i != 177 else [(9, 3)]
    def tensor(self):
        for a, b in self.spans:
            if b < a: raise AssertionError(f"document {self.i}: span end {b} before start {a}")
        return torch.randn(6, 30), torch.randint(0, 9, (6,))
for step in range(first, 200):
    doc = step * 2 + rank
    if doc in done:
        info(f"document {doc} is quarantined, random batch instead"); doc = 0
    try:
        x, y = Doc(doc).tensor()
    except AssertionError:
        st = torch.load(CK); st["quarantine"].append(doc); torch.save(st, CK); raise
    loss = torch.nn.functional.cross_entropy(ddp(x), y); opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0:
        if rank == 0: torch.save({"net": net.state_dict(), "step": step, "quarantine": sorted(done)}, CK)
        dist.barrier()
    info(f"step {step}/200 loss {loss.item():.4f}")
dist.barrier()
if rank == 0: torch.save(net.state_dict(), "ner_final.pt"); info("final model written to ner_final.pt")
dist.destroy_process_group()
