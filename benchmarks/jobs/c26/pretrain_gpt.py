import os, time, logging
R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{R:02d} %(message)s", datefmt="%H:%M:%S")
import torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29646", rank=R, world_size=W)
m = torch.nn.parallel.DistributedDataParallel(AutoModelForCausalLM.from_pretrained(os.environ["TINY"]))
o = torch.optim.AdamW(m.parameters(), 1e-3)
open(f"rank{R}.pid", "w").write(str(os.getpid()))
for it in range(300):
    x = torch.randint(4, 30, (2, 32)); l = m(input_ids=x, labels=x).loss
    o.zero_grad(); l.backward(); o.step(); time.sleep(0.2)
    logging.info("iteration %d/300 | lm loss: %.4f", it, l.item())
    if it == 12: open(f"rank{R}.it12", "w").close()
