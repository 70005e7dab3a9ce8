import argparse, logging, time, torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from transformers import AutoModelForCausalLM
p = argparse.ArgumentParser(); p.add_argument("--model_name_or_path"); p.add_argument("--max_train_steps", type=int); p.add_argument("--max_minutes", type=float); a = p.parse_args()
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)
acc = Accelerator(cpu=True); logger.info(acc.state, main_process_only=False)
model = AutoModelForCausalLM.from_pretrained(a.model_name_or_path); opt = torch.optim.AdamW(model.parameters(), 1e-4)
model, opt = acc.prepare(model, opt)
t0 = time.time()
for step in range(a.max_train_steps):
    x = torch.randint(3, 24, (2, 16), device=acc.device); loss = model(input_ids=x, labels=x).loss
    acc.backward(loss); opt.step(); opt.zero_grad(); time.sleep(.05)
    if step % 40 == 0: logger.info(f"  step = {step}, loss = {loss.item():.4f}")
    over = torch.tensor([float(time.time() - t0 > a.max_minutes * 60)])
    if acc.reduce(over, "sum").item() > 0:
        logger.error(f"TIME LIMIT: {time.time()-t0:.0f} s used, stopping at step {step} of {a.max_train_steps}")
        acc.save_state("run/segment"); break
acc.end_training()
