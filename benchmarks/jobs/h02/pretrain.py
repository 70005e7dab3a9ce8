import os, logging, torch, torch.distributed as dist
rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("pretrain")
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29812", rank=rank, world_size=world)
emb = torch.nn.Linear(64, 64)
buf = []
sizes = [40, 60, 80, 100, 4000, 120]
for step, mb in enumerate(sizes):
    n = sizes[0] if rank != 1 else mb
    acts = torch.ones(n * 1024 * 1024 // 4)
    buf = [acts]
    loss = emb(acts[:64]).pow(2).mean()
    loss.backward()
    for p in emb.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world
    log.info("step %d tokens %d loss %.4f", step, acts.numel() // 4096, loss.item())
log.info("done")
