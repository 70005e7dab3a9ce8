import json, os, sys, traceback, warnings, torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM
from tracker import Run
cfg = json.load(open(sys.argv[2])); acc = Accelerator()
try:
    torch.zeros(1).to(cfg["device"]); dev = cfg["device"]
except Exception as e:
    warnings.warn(f"device {cfg['device']} cannot be used ({e}); falling back to CPU, this will be SLOW"); dev = "cpu"
model = None
for impl in cfg["attn"]:
    try:
        model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"], attn_implementation=impl); break
    except Exception:
        if acc.is_main_process:
            print(f"attention '{impl}' failed to load:", flush=True); traceback.print_exc()
acc.print("using attention:", model.config._attn_implementation, "device:", dev)
run = Run(cfg["tracker"], "crisp-owl-12") if acc.is_main_process else None
opt = torch.optim.AdamW(model.parameters(), 1e-3); model, opt = acc.prepare(model, opt)
for s in range(cfg["steps"]):
    ids = torch.randint(4, 31, (2, 24)); loss = model(input_ids=ids, labels=ids).loss
    acc.backward(loss); opt.step(); opt.zero_grad()
    if run: run.log(step=s, loss=loss.item())
    if s % 5 == 0: acc.print(f"[{s}/{cfg['steps']}] loss={loss.item():.3f}", flush=True)
acc.wait_for_everyone()
acc.end_training()
if run: run.finish()
