import os, sys, torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model, PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from safetensors import safe_open
acc = Accelerator(cpu=True); src = sys.argv[1]
tok = AutoTokenizer.from_pretrained(src)
model = get_peft_model(AutoModelForCausalLM.from_pretrained(src), LoraConfig(r=8, target_modules=["q_proj", "k_proj", "v_proj"], task_type="CAUSAL_LM"))
if acc.is_main_process: model.print_trainable_parameters()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 2e-3)
model, opt = acc.prepare(model, opt)
for s in range(24):
    b = tok(["the cat sleeps .", "a red house stands ."], return_tensors="pt", padding=True)
    l = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=b["input_ids"]).loss
    acc.backward(l); opt.step(); opt.zero_grad()
    if s % 6 == 0: acc.print(f"step {s} loss {l.item():.4f}")
acc.wait_for_everyone()
state = {k: v for k, v in acc.unwrap_model(model).state_dict().items() if k.startswith("module.") and "lora_" in k}
if acc.is_main_process:
    acc.unwrap_model(model).save_pretrained("adapter", state_dict=state)
    f = "adapter/adapter_model.safetensors"
    with safe_open(f, "pt") as st: n = len(list(st.keys()))
    print(f"saved {f}: {n} tensors, {os.path.getsize(f)} bytes")
    PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(src), "adapter")
    print("adapter reloaded, all done")
acc.end_training()
