import argparse
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator
import logging

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model_name_or_path", required=True)
    p.add_argument("--train_file", required=True)
    p.add_argument("--per_device_train_batch_size", type=int, default=4)
    p.add_argument("--learning_rate", type=float, default=5e-5)
    p.add_argument("--max_train_steps", type=int, default=30)
    return p.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator(cpu=True)
    logger.info(accelerator.state, main_process_only=False)
    tok = AutoTokenizer.from_pretrained(args.model_name_or_path)
    model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)
    raw = load_dataset("json", data_files={"train": args.train_file}, cache_dir=f".cache/{accelerator.process_index}")

    def tokenize(ex):
        t = tok([a + " " + b for a, b in zip(ex["instruction"], ex["output"])], padding="max_length", truncation=True, max_length=24)
        t["labels"] = [list(x) for x in t["input_ids"]]
        return t

    with accelerator.main_process_first():
        ds = raw["train"].map(tokenize, batched=True, remove_columns=raw["train"].column_names)
    dl = DataLoader(ds, batch_size=args.per_device_train_batch_size, shuffle=True, collate_fn=default_data_collator)
    opt = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    model, opt, dl = accelerator.prepare(model, opt, dl)
    logger.info("***** Running training *****")
    for step, batch in enumerate(dl):
        loss = model(**batch).loss
        accelerator.backward(loss)
        opt.step(); opt.zero_grad()
        if step % 5 == 0:
            logger.info(f"step {step} loss {loss.item():.4f}")
        if step >= args.max_train_steps:
            break


if __name__ == "__main__":
    main()
