import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]), world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))
enc = torch.nn.parallel.DistributedDataParallel(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True))
opt = torch.optim.Adam(enc.parameters(), 1e-3)
for i in range(1, 21):
    t = time.time(); x = torch.randn(4, 16, 32); l = (enc(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if i % 4 == 0 and dist.get_rank() == 0: print(f" iteration {i:8d}/      20 | elapsed time per iteration (ms): {1e3*(time.time()-t):.1f} | lm loss: {l.item():.6E} | loss scale: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |", flush=True)
dist.destroy_process_group()
