from accelerate import Accelerator
from accelerate.logging import get_logger
import logging, torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)

def collate(batch):
    b = tokenizer(batch, padding=True, truncation=True, max_length=64, return_tensors="pt")
    b["labels"] = b["input_ids"].clone()
    return b

accelerator = Accelerator()
logger.info(accelerator.state, main_process_only=False)
tokenizer = AutoTokenizer.from_pretrained("base")
model = AutoModelForCausalLM.from_pretrained("base")
texts = open("corpus.txt").read().splitlines()
dl = DataLoader(texts, batch_size=8, shuffle=True, collate_fn=collate)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, opt, dl = accelerator.prepare(model, opt, dl)
logger.info("***** Running training *****")
logger.info(f"  Num examples = {len(texts)}")
for step, batch in enumerate(dl):
    loss = model(**batch).loss
    accelerator.backward(loss); opt.step(); opt.zero_grad()
    if step % 5 == 0:
        logger.info(f"step {step} loss {loss.item():.3f}")
