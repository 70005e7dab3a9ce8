import os, torch, torch.distributed as dist
from torch.profiler import profile, ProfilerActivity, schedule
dist.init_process_group("gloo"); r = dist.get_rank()
m = torch.nn.parallel.DistributedDataParallel(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)); o = torch.optim.Adam(m.parameters())
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=1, warmup=1, active=3)) as prof:
    for s in range(6):
        l = m(torch.randn(4, 16, 32)).square().mean(); o.zero_grad(); l.backward(); o.step(); prof.step()
        if r == 0: print("profiled step", s, "loss", round(l.item(), 4), flush=True)
if r == 0:
    try:
        print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=12, max_name_column_width=40))
    except Exception as e:
        print("no CUDA columns:", repr(e))
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
    try:
        prof.export_stacks("stacks.txt", "self_cpu_time_total")
    except Exception as e:
        import traceback; traceback.print_exc()
    prof.export_chrome_trace("trace.json"); print("trace:", os.path.abspath("trace.json"))
dist.barrier(); dist.destroy_process_group()
