import os, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
rank, local = int(os.environ["RANK"]), os.environ["MODEL_DIR"]
dist.init_process_group("gloo")
print("loading", local, flush=True)
model = AutoModelForCausalLM.from_pretrained(local)
print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
ddp = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(ddp.parameters(), 1e-4)
for i in range(6):
    ids = torch.randint(0, model.config.vocab_size, (2, 32))
    loss = ddp(input_ids=ids, labels=ids).loss
    opt.zero_grad(); loss.backward(); opt.step()
    print("step", i, round(loss.item(), 4), flush=True)
