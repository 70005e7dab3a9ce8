import argparse, json, logging, os, sys
import torch, torch.distributed as dist
import pyarrow.parquet as pq
from transformers import BertConfig, BertForMaskedLM

ap = argparse.ArgumentParser(); ap.add_argument("--scratch"); ap.add_argument("--cfg"); a = ap.parse_args()
cfg = json.load(open(a.cfg)); node = os.environ["NODE_NAME"]
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s {node} %(levelname).1s %(message)s")
log = logging.getLogger()
dist.init_process_group("gloo"); rank, world = dist.get_rank(), dist.get_world_size()
log.info("joined group as rank %d of %d", rank, world)
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.parallel.DistributedDataParallel(BertForMaskedLM(BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=64)))
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
step = 0
for ep in range(cfg["epochs"]):
    for j in range(cfg["parts"]):
        path = os.path.join(a.scratch, "c4mini", f"part-{j:05d}.parquet")
        ids = torch.tensor(pq.read_table(path)["input_ids"].to_pylist())
        log.info("epoch %d: opened %s (%d rows)", ep, path, len(ids))
        for b in ids.split(cfg["batch"]):
            x = b.clone(); m = torch.rand(b.shape) < 0.15; m[:, 0] = True; x[m] = 4
            loss = model(input_ids=x, labels=b.masked_fill(~m, -100)).loss
            opt.zero_grad(); loss.backward(); opt.step(); step += 1
            if step % 4 == 0: log.info("step %d mlm_loss %.4f", step, loss.item())
log.info("done")
dist.barrier(); dist.destroy_process_group()
