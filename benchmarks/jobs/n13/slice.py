import argparse, signal, time, os, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--budget", type=int); a = p.parse_args()
stop = False
def on_alarm(sig, frame):
    global stop; stop = True
    print(f"!! pid {os.getpid()} caught {signal.Signals(sig).name}: TIME LIMIT is near, will stop and save", flush=True)
signal.signal(signal.SIGALRM, on_alarm); signal.signal(signal.SIGUSR1, on_alarm); signal.alarm(a.budget)
dist.init_process_group("gloo"); r = dist.get_rank()
w = torch.randn(200, 50); step = 18000
while True:
    w = torch.tanh(w @ torch.randn(50, 50) / 7); dist.all_reduce(w); w /= 2; step += 1; time.sleep(.1)
    if r == 0 and step % 10 == 0: print(f"step {step}/90000 |w|={w.norm():.3f}", flush=True)
    f = torch.tensor([int(stop)]); dist.all_reduce(f)
    if f.item():
        break
if r == 0: torch.save((step, w), "state.pt"); print(f"state.pt written at step {step}; terminating, requeue requested", flush=True)
dist.barrier(); dist.destroy_process_group()
