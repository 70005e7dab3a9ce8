import os, sys, datetime, logging, torch
from datasets import Dataset
from transformers import AutoTokenizer
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.logging import get_logger
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
logger = get_logger(__name__)

def main():
    acc = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=datetime.timedelta(seconds=10))])
    logger.info(acc.state, main_process_only=False)
    tok = AutoTokenizer.from_pretrained(sys.argv[1])
    raw = Dataset.from_dict({"text": ["a long story about the river and the town " * 60] * 200000})
    with acc.main_process_first():
        ds = raw.map(lambda b: tok(b["text"], truncation=True, max_length=512), batched=True, batch_size=500,
                     remove_columns=["text"], desc="Running tokenizer on dataset")
    logger.info(f"train samples: {len(ds)}")

if __name__ == "__main__":
    main()
