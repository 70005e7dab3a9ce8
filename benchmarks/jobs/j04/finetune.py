import os, torch, json, logging
from accelerate import Accelerator
from accelerate.logging import get_logger
from transformers import AutoModelForCausalLM
logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(process)d] %(message)s")
logger = get_logger("finetune")
acc = Accelerator(cpu=True)
logger.info(f"{acc.state}".strip(), main_process_only=True)
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
model, opt = acc.prepare(model, opt)
rows = [json.loads(l) for l in open(f"data/split{acc.process_index}.jsonl")]
for step in range(30):
    row = rows[step]
    ids = torch.tensor([row["ids"]]); wt = torch.tensor(row["weight"])
    out = model(input_ids=ids, labels=ids)
    loss = out.loss * wt / wt.sum()
    loss = loss.mean()
    if not torch.isfinite(loss):
        raise FloatingPointError(f"step {step}: loss={loss.item()} (process {acc.process_index}, sample id {row['id']})")
    acc.backward(loss); opt.step(); opt.zero_grad()
    logger.info(f"step={step} loss={loss.item():.4f}", main_process_only=True)
acc.wait_for_everyone()
