import os, datetime, torch, torch.distributed as dist
r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=r, world_size=w, timeout=datetime.timedelta(seconds=25))
torch.manual_seed(r)
shard = torch.nn.Parameter(torch.randn(300, 300) * .05)
opt = torch.optim.AdamW([shard], lr=1e-2)
tgt = torch.eye(300)
for step in range(1, 101):
    full = shard.detach().clone()
    dist.all_reduce(full); full -= shard.detach()
    loss = ((shard + full) - tgt).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 5 == 0: print("step %3d  loss %.5f" % (step, loss.item()), flush=True)
    if step % 20 == 0:
        path = f"scratch/{r}/opt-{step:06d}.pt"
        with open(path, "wb") as f:
            torch.save({"step": step, "opt": opt.state_dict(), "shard": shard.data}, f)
        print(f"wrote {path}", flush=True)
        dist.barrier()
dist.destroy_process_group()
