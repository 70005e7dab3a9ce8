import sys, logging, torch
from dataclasses import dataclass, field
from datasets import Dataset
from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling,
                          HfArgumentParser, Trainer, TrainingArguments)
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("finetune")

@dataclass
class ModelArgs:
    model_name_or_path: str = field(default=None)

def main():
    margs, targs = HfArgumentParser((ModelArgs, TrainingArguments)).parse_args_into_dataclasses()
    log.info("Training/evaluation parameters %s", targs)
    tok = AutoTokenizer.from_pretrained(margs.model_name_or_path)
    model = AutoModelForCausalLM.from_pretrained(margs.model_name_or_path)
    ds = Dataset.from_dict({"text": ["a b c d e f"] * 256}).map(lambda r: tok(r["text"]), remove_columns=["text"])
    trainer = Trainer(model=model, args=targs, train_dataset=ds,
                      data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
    trainer.train()
    trainer.save_model()

main()
