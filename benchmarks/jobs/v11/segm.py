import os, sys, time, platform, datetime
import torch, torch.distributed as dist
E = os.environ
def log(fmt, *a):
    print("%s | %-9s | " % (time.strftime("%Y-%m-%d %H:%M:%S"), E["NAME"]) + fmt % a)
log("segm trainer 0.9.3, python %s, torch %s, %d threads", platform.python_version(), torch.__version__, torch.get_num_threads())
log("init tcp://%s:%s rank=%s/%s", E["MASTER_ADDR"], E["MASTER_PORT"], E["RANK"], E["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=18))
log("connected")
conv = torch.nn.parallel.DistributedDataParallel(torch.nn.Conv2d(3, 8, 3))
for i in range(20):
    conv(torch.randn(2, 3, 32, 32)).mean().backward()
    log("it %d", i)
