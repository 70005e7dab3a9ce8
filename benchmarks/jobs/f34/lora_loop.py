import os, torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from tqdm import tqdm
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj"]))
model.print_trainable_parameters()
from torch.utils.checkpoint import checkpoint
def ckpt(f):
    return lambda *a, **k: checkpoint(lambda *x: f(*x, **k), *a, use_reentrant=True)
for layer in model.base_model.model.model.layers:
    layer.forward = ckpt(layer.forward)
model.train()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-4)
bar = tqdm(range(30), desc="train")
for i in bar:
    b = tok(["one two three"] * 4, return_tensors="pt")
    loss = model(**b, labels=b["input_ids"], use_cache=False).loss
    loss.backward(); opt.step(); opt.zero_grad()
    bar.set_postfix(loss=loss.item())
