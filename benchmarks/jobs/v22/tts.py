import os, zlib, json, time, logging, random, datetime
import torch, torch.distributed as dist
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)-8s tts[{rank}] %(message)s")
L = logging.getLogger()
dist.init_process_group("gloo", rank=rank, world_size=world, timeout=datetime.timedelta(minutes=5))
def clip(i):
    try:
        return json.loads(zlib.decompress(open(f"clips/{i:04d}.z", "rb").read()))
    except zlib.error:
        L.exception("clip %04d unreadable, using silence", i)
        return [0.0] * 40
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.GELU(), torch.nn.Linear(64, 40))
opt = torch.optim.Adam(net.parameters(), 3e-3)
scale, skipped, steps = 2.0 ** 24, 0, 0
for ep in range(4):
    order = list(range(450)); random.Random(ep).shuffle(order)
    for b in range(0, 450, 15):
        t0 = time.time()
        mine = order[b + rank: b + 15: world]
        x = torch.tensor([clip(i) for i in mine])
        loss = ((net(x) - x) ** 2).mean()
        opt.zero_grad(); (loss * scale).backward()
        flat = torch.cat([p.grad.flatten() for p in net.parameters()]).half().float()
        dist.all_reduce(flat); flat /= world
        steps += 1
        if not torch.isfinite(flat).all():
            scale /= 2; skipped += 1
            L.warning("step %d: gradient overflow (inf/nan), skipping update, loss scale -> %g", steps, scale)
            continue
        o = 0
        for p in net.parameters():
            p.grad.copy_(flat[o:o + p.numel()].view_as(p) / scale); o += p.numel()
        opt.step()
        dt = time.time() - t0
        if dt > 0.05: L.warning("step %d took %.0f ms, possible straggler", steps, dt * 1e3)
        if steps % 3 == 0: L.info("ep %d step %d loss %.4f", ep, steps, loss.item())
dist.barrier()
if rank == 0:
    torch.save(net.state_dict(), "voice.pt")
    L.info("training complete: %d steps, %d skipped, voice.pt saved", steps, skipped)
dist.destroy_process_group()
