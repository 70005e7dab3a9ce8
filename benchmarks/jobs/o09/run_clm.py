from dataclasses import dataclass
import random
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments, default_data_collator
@dataclass
class ModelArgs:
    model_name: str
def main():
    margs, targs = HfArgumentParser((ModelArgs, TrainingArguments)).parse_args_into_dataclasses()
    if targs.local_rank in (-1, 0): print(f"micro bs {targs.per_device_train_batch_size}, accum {targs.gradient_accumulation_steps}, lr {targs.learning_rate}")
    model = AutoModelForCausalLM.from_pretrained(margs.model_name)
    rows = [[random.randrange(4, 31) for _ in range(32)] for _ in range(400)]
    ds = Dataset.from_dict({"input_ids": rows, "labels": rows})
    t = Trainer(model=model, args=targs, train_dataset=ds, data_collator=default_data_collator)
    t.train()
if __name__ == "__main__":
    main()
