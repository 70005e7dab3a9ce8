import argparse, logging, os
import torch, torch.distributed as dist
from transformers import AutoModel

ap = argparse.ArgumentParser(); ap.add_argument("--base"); a = ap.parse_args()
logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
dist.init_process_group("gloo")
rank = dist.get_rank()
logging.info("joined as rank %d of %d", rank, dist.get_world_size())
model = AutoModel.from_pretrained(a.base)
logging.info("base loaded, %d parameters", model.num_parameters())
net = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
opt = torch.optim.AdamW(net.parameters(), 1e-4)
for step in range(30):
    ids = torch.randint(0, 600, (8, 32))
    q = net(ids).last_hidden_state.mean(1)
    d = q + 0.1 * torch.randn_like(q)
    loss = torch.nn.functional.cross_entropy(q @ d.T, torch.arange(8))
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 0:
        logging.info("step %d contrastive loss %.3f", step, loss.item())
dist.barrier()
logging.info("finished")
dist.destroy_process_group()
