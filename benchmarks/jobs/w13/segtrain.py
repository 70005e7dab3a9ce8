import os, platform, datetime
import torch, torch.distributed as dist
R, W = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]); H = os.environ["HOST_ALIAS"]
def log(*a): print(datetime.datetime.now().isoformat(timespec="milliseconds"), f"{H}", *a)
log(f"rank {R} of {W}, python {platform.python_version()}, torch {torch.__version__}")
log("comm env:", {k: v for k, v in os.environ.items() if k.endswith("_SOCKET_IFNAME")})
log(f"volumes: {[118, 117, 96][R]} CT scans, patch {(96, 96, 64)}")
if H == "gn02":
    log("WARN nvidia-persistenced not running, first step may be slow")
if H == "gn03":
    log("WARN 2 scans without label map, used for validation only")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Conv3d(1, 8, 3))
for i in range(10):
    net(torch.randn(1, 1, 16, 16, 16)).mean().backward(); log("step", i)
dist.destroy_process_group()
