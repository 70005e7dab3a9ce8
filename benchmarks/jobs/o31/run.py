import sys, random
from datasets import Dataset
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_json_file(sys.argv[1])
rows = [[random.randrange(4, 31) for _ in range(32)] for _ in range(200)]
model = AutoModelForCausalLM.from_pretrained("tiny")
res = Trainer(model=model, args=args, train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows})).train()
print("final loss", res.training_loss)
assert res.training_loss < 3.43, f"did not learn: {res.training_loss}"
