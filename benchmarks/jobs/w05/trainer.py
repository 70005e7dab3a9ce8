import logging, os, signal, sys, time
import torch, torch.distributed as dist, torch.nn as nn

R = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)-7s %(message)s")
stop = []


def on_term(sig, frame):
    logging.warning("caught %s, leaving after this step", signal.Signals(sig).name)
    stop.append(sig)


signal.signal(signal.SIGTERM, on_term)
dist.init_process_group("gloo")
torch.manual_seed(7)
net = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
opt = torch.optim.AdamW(net.parameters(), 2e-4)
n = [3100, 3100, 3100, 2744][R]
logging.info("rank %d/%d pid %d, %d windows of audio, seed %d", R, dist.get_world_size(), os.getpid(), n, 7 + R)
if R == 1:
    logging.warning("3 wav files have 44.1 kHz, resampling to 16 kHz on the fly")
flag = torch.zeros(1)
for step in range(3000):
    x = torch.randn(32, 128)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM); p.grad.div_(4)
    opt.step()
    flag[0] = 1.0 if stop else 0.0
    dist.all_reduce(flag)
    time.sleep(0.04)
    if step % 5 == 0:
        logging.info("step %5d loss %.5f%s", step, loss.item(), "  rss %d MB" % (int(open("/proc/self/statm").read().split()[1]) // 256) if R == 0 else "")
    if flag.item() > 0:
        if R == 0:
            torch.save(net.state_dict(), "interrupted.pt"); logging.info("saved interrupted.pt at step %d", step)
        logging.info("exit at step %d of 3000 (interrupted)", step)
        dist.destroy_process_group()
        sys.exit(143)
logging.info("finished")
