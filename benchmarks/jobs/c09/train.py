import os, logging, torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{os.environ.get('RANK')}] %(levelname)s %(message)s")
log = logging.getLogger()

def main():
    dist.init_process_group("gloo")
    model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
    init_emb = model.model.embed_tokens.weight.detach().clone()
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    emb_reg = 1e-4
    for step in range(30):
        ids = torch.randint(4, 30, (4, 24))
        reg = 0.0
        if step >= 5:  # embedding regularizer after warmup
            reg = emb_reg * (model.model.embed_tokens.weight - init_emb).pow(2).sum()
        loss = model(input_ids=ids, labels=ids).loss + reg
        loss.backward()
        opt.step(); opt.zero_grad()
        log.info("step %d loss %.4f", step, float(loss))
    dist.destroy_process_group()

main()
