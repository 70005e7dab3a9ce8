import os, yaml, torch, torch.distributed as dist
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
cfg = yaml.safe_load(open("config.yaml"))
dist.init_process_group("gloo"); rank = dist.get_rank()
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
print(f"rank {rank}: base model loaded", flush=True)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **cfg["lora"]))
model.print_trainable_parameters()
ddp = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg["lr"])
ids = torch.randint(0, 100, (2, 16))
for s in range(cfg["steps"]):
    loss = ddp(input_ids=ids, labels=ids).loss; loss.backward(); opt.step(); opt.zero_grad()
if rank == 0: model.save_pretrained("adapter")
