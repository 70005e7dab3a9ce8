import logging, os, signal, sys, time, torch, torch.distributed as dist
r = int(os.environ["OMPI_COMM_WORLD_RANK"])
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s | %(levelname)-8s | %(message)s")
stop = torch.zeros(1)
def on_signal(num, frame):
    logging.critical("rank %d caught signal %s, the job is going to be preempted", r, signal.Signals(num).name)
    stop.fill_(1)
signal.signal(signal.SIGUSR1, on_signal)
dist.init_process_group("gloo", rank=r, world_size=3)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Bilinear(8, 8, 4)); opt = torch.optim.SGD(m.parameters(), .05)
open(f"state/{r}.pid", "w").write(f"{os.getpid()}\n")
for step in range(5000):
    a = torch.randn(16, 8); l = (m(a, a) - a[:, :4] ** 2).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step(); time.sleep(.2)
    if r == 0 and step % 5 == 0: logging.info("step %d of 5000, loss %.4f", step, l.item())
    flag = stop.clone(); dist.all_reduce(flag)
    if flag.item():
        if r == 0: torch.save({"m": m.module.state_dict(), "step": step}, "state/preempt.pt"); logging.warning("state of step %d saved to state/preempt.pt, exit for requeue", step)
        dist.barrier(); dist.destroy_process_group(); sys.exit(0)
