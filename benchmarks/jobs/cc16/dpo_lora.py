import argparse
import copy

import torch
import yaml
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

ap = argparse.ArgumentParser()
ap.add_argument("--config")
cfg = yaml.safe_load(open(ap.parse_args().config))
acc = Accelerator(cpu=True)
acc.print(f"dpo_lora: {acc.num_processes} processes, config {cfg}")
torch.manual_seed(0)
base = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=300, hidden_size=cfg["model"]["width"], num_hidden_layers=cfg["model"]["layers"], num_attention_heads=4, intermediate_size=128, max_position_embeddings=128))
acc.print(f"dpo_lora: policy {type(base).__name__}, {base.num_parameters():,} parameters")
ref = copy.deepcopy(base).eval()
policy = get_peft_model(base, LoraConfig(r=cfg["lora"]["r"], lora_alpha=cfg["lora"]["alpha"], target_modules=cfg["lora"]["target_modules"], task_type="CAUSAL_LM"))
policy.print_trainable_parameters()
opt = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], 1e-4)
policy, opt = acc.prepare(policy, opt)


def logp(m, x):
    return torch.log_softmax(m(input_ids=x).logits[:, :-1], -1).gather(-1, x[:, 1:, None]).sum((1, 2))


for step in range(cfg["train"]["steps"]):
    good, bad = torch.randint(0, 300, (2, 4, 48))
    with torch.no_grad():
        r = logp(ref, good) - logp(ref, bad)
    loss = -torch.nn.functional.logsigmoid(cfg["train"]["beta"] * (logp(policy, good) - logp(policy, bad) - r)).mean()
    acc.backward(loss); opt.step(); opt.zero_grad()
    if step % 10 == 0:
        acc.print(f"dpo_lora: step {step} loss {loss.item():.4f}")
