import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def log(msg):
    if dist.get_rank() == 0:
        print(f"[lora] {msg}", flush=True)


def main():
    dist.init_process_group("gloo")
    base = os.environ["TINY"]
    tok = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    log(f"loaded {base}: {sum(p.numel() for p in model.parameters())/1e6:.3f}M params")
    cfg = LoraConfig(**json.load(open("lora_config.json")))
    model = get_peft_model(model, cfg)
    if dist.get_rank() == 0:
        model.print_trainable_parameters()
    model = DDP(model)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
    for step in range(50):
        b = tok(["hello there my friend"] * 4, return_tensors="pt")
        loss = model(**b, labels=b["input_ids"]).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        log(f"step {step} loss {loss.item():.4f}")
    if dist.get_rank() == 0:
        model.module.save_pretrained("adapter")
    dist.destroy_process_group()


main()
