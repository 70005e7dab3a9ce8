import argparse, json, torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import logging
logging.basicConfig(level=logging.INFO)
logger = get_logger(__name__)
p = argparse.ArgumentParser(); p.add_argument("--config"); cfg = json.load(open(p.parse_args().config))
acc = Accelerator()
logger.info("config: %s", cfg)
model = AutoModelForCausalLM.from_pretrained(cfg["model"])
model = get_peft_model(model, LoraConfig(r=cfg["r"], lora_alpha=cfg["alpha"], target_modules=cfg["target_modules"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
model, opt = acc.prepare(model, opt)
for s in range(cfg["steps"]):
    x = torch.randint(4, 31, (2, 32)); out = model(input_ids=x, labels=x); acc.backward(out.loss); opt.step(); opt.zero_grad()
    if s % 5 == 0: logger.info("step %d loss %.3f", s, out.loss.item())
