import os, sys, torch, torch.distributed as dist, ecs
stage = sys.argv[1]; log = ecs.get("stage." + stage)
def net(): torch.manual_seed(5); return torch.nn.Sequential(torch.nn.Linear(256, 400), torch.nn.ReLU(), torch.nn.Linear(400, 256))
def loop(m, n):
    opt = torch.optim.Adam(m.parameters(), 1e-3)
    for i in range(n):
        x = torch.randn(16, 256); loss = (m(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if i % 3 == 0: log.info("step %d loss %.4f", i, loss.item())
def main():
    if stage == "pretrain":
        m = net(); loop(m, 150); torch.save(m.state_dict(), "out/last.pt")
        log.info("wrote out/last.pt (%d bytes)", os.path.getsize("out/last.pt")); return
    dist.init_process_group("gloo")
    m = net(); rank = dist.get_rank()
    log.info("stage sft, world size %d", dist.get_world_size())
    if rank == 0:
        log.info("resuming from out/resume.pt (%d bytes)", os.path.getsize("out/resume.pt"))
        m.load_state_dict(torch.load("out/resume.pt"))
    for p in m.parameters(): dist.broadcast(p.data, 0)
    loop(m, 100)
try: main()
except Exception:
    log.error("stage %s failed", stage, exc_info=True); sys.exit(1)
