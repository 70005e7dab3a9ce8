import io, logging, os, time
import torch, torch.distributed as dist, torch.nn as nn
rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); ws = int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(filename=f"logs/pretrain-{rank}.log", level=logging.INFO,
    format="[%(asctime)s.%(msecs)03d %(levelname).1s %(filename)s:%(lineno)d] %(message)s", datefmt="%m%d %H:%M:%S")
log = logging.getLogger("pretrain")
dist.init_process_group("gloo", rank=rank, world_size=ws)
log.info("init done world=%d", ws)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(4000, 128), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 4000)))
opt = torch.optim.Adam(model.parameters(), 1e-3)
def save(step):
    # weights only until warmup is over, then with the optimizer state
    obj = {"model": model.module.state_dict(), "step": step}
    if step > 40: obj = {**obj, "optimizer": opt.state_dict()}
    t = time.time()
    buf = io.BytesIO(); torch.save(obj["model"] if step <= 20 else obj, buf)
    with open(f"ckpt/step{step:06d}.pt", "wb") as f: f.write(buf.getbuffer())
    log.info("saved ckpt/step%06d.pt in %.2fs (%.1f MB)", step, time.time() - t, os.path.getsize(f"ckpt/step{step:06d}.pt") / 1e6)
def run():
    for step in range(1, 101):
        ids = torch.randint(0, 4000, (32,))
        loss = nn.functional.cross_entropy(model(ids), ids)
        opt.zero_grad(); loss.backward(); opt.step()
        if step % 2 == 0: log.info("step=%d/100 loss=%.4f lr=1.0e-03", step, loss.item())
        if step % 20 == 0:
            if rank == 0: save(step)
            dist.barrier()
try:
    run()
except BaseException:
    log.critical("unhandled exception, leaving", exc_info=True)
    logging.shutdown(); os._exit(1)
