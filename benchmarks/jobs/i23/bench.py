import os, torch, torch.nn as nn, torch.distributed as dist
from torch.profiler import profile, ProfilerActivity
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); dist.init_process_group("gloo", rank=r, world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))
m = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)); d = nn.parallel.DistributedDataParallel(m); o = torch.optim.AdamW(d.parameters())
try: cm = torch.compile(m, backend="cudagraphs_trees")
except Exception as e: print(f"rank {r}: compile unavailable: {e!r}")
try: torch.cuda.memory._record_memory_history(); torch.cuda.synchronize()
except Exception as e: print(f"rank {r}: no CUDA timeline: {type(e).__name__}: {e}", flush=True)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as prof:
    for i in range(8):
        x = torch.randn(32, 64); l = (d(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); prof.step()
        if r == 0: print("bench iter", i, "err", round(l.item(), 4))
ref = m.double()(x.double()).float(); errs = [(k, (m.float()(x.to(t).float()) - ref).abs().max().item()) for k, t in (("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp32", torch.float32))]
dist.barrier(); dist.destroy_process_group()
if r == 0:
    print("dtype     max error   tolerance  verdict")
    for k, e in errs: print(f"{k:6s} {e:12.3e}  {1e-6:10.1e}  {'ok' if e < 1e-6 else 'ERROR'}")
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=12))
