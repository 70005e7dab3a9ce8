import logging, os, torch, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("worker." + os.environ["RANK"])
dist.init_process_group("gloo")
log.info("joined, world size %d", dist.get_world_size())
torch.manual_seed(dist.get_rank())
w = torch.zeros(2000)
for it in range(6000):
    g = torch.randn(2000) + w
    dist.all_reduce(g); g /= dist.get_world_size()
    w -= 0.05 * g
    if it % 5 == 0: log.info("it %d grad_norm %.4f w_norm %.4f", it, g.norm(), w.norm())
log.info("finished")
dist.destroy_process_group()
