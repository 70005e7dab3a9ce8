import os, time, torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler
from tqdm.auto import tqdm
acc = Accelerator(gradient_accumulation_steps=2, cpu=True)
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
opt = torch.optim.AdamW(model.parameters(), 1e-3)
sched = get_scheduler("linear", opt, 0, 400)
model, opt, sched = acc.prepare(model, opt, sched)
acc.print("***** Running training *****\n  Num processes = %d\n  Total optimization steps = 200" % acc.num_processes)
os.makedirs("out", exist_ok=True); open(f"out/pid{acc.process_index}", "w").write(str(os.getpid()))
bar = tqdm(range(200), disable=not acc.is_local_main_process)
for step in range(400):
    with acc.accumulate(model):
        ids = torch.randint(4, 31, (2, 24))
        loss = model(input_ids=ids, labels=ids).loss
        acc.backward(loss); opt.step(); sched.step(); opt.zero_grad()
    time.sleep(.1)
    if acc.sync_gradients:
        bar.update(1); bar.set_postfix(loss=f"{loss.item():.3f}")
        open(f"out/step{acc.process_index}", "w").write(str(step))
