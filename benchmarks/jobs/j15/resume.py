import os, sys, torch, torch.distributed as dist
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="4115")
dist.init_process_group("gloo", rank=rank, world_size=world)
m = torch.nn.Linear(32, 32); o = torch.optim.Adam(m.parameters(), 1e-3); start = 0
ck = "checkpoints/latest"
if os.path.exists(ck):
    tag = open(ck).read().strip()
    print(f"resuming from checkpoints/{tag}", flush=True)
    s = torch.load(f"checkpoints/{tag}/optim_shard_{rank}of{world}.pt")
    m.load_state_dict(s["m"]); o.load_state_dict(s["o"]); start = s["step"]
    print(f"loaded, step {start}", flush=True)
dist.barrier()
for step in range(start + 1, start + 21):
    l = m(torch.randn(8, 32)).pow(2).mean(); o.zero_grad(); l.backward()
    for p in m.parameters(): dist.all_reduce(p.grad)
    o.step()
    if step % 5 == 0: print(f"step {step} {l.item():.5f}", flush=True)
d = f"checkpoints/step{step}"; os.makedirs(d, exist_ok=True)
torch.save({"m": m.state_dict(), "o": o.state_dict(), "step": step}, f"{d}/optim_shard_{rank}of{world}.pt")
dist.barrier()
if rank == 0: open(ck, "w").write(f"step{step}")
