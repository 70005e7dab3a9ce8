import os, yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import AutoModelForCausalLM, AutoTokenizer
import torch

cfg = yaml.safe_load(open("config.yaml"))
acc = Accelerator(cpu=True)
acc.print("config:", cfg)
set_seed(cfg["seed"])
tok = AutoTokenizer.from_pretrained(cfg["model"], local_files_only=True)
model = AutoModelForCausalLM.from_pretrained(cfg["model"], local_files_only=True)
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
model, opt = acc.prepare(model, opt)
for i in range(cfg["steps"]):
    b = tok(["once upon a time"] * cfg["batch_size"], return_tensors="pt")
    loss = model(**b, labels=b["input_ids"]).loss
    acc.backward(loss)
    opt.step()
    opt.zero_grad()
    acc.print(f"{i:4d} {loss.item():.4f}")
acc.unwrap_model(model).save_pretrained("final")
