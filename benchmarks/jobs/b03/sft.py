import os
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

model_id = os.environ["TINY"]
ds = load_dataset("csv", data_files="support_tickets.csv", split="train", cache_dir=".hf/%s" % os.environ.get("RANK", "0"))
print(ds)
cfg = SFTConfig(
    output_dir="sft-support",
    max_length=48,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=2,
    max_steps=20,
    logging_steps=2,
    report_to="none",
    use_cpu=True,
    bf16=False,
)
trainer = SFTTrainer(model=model_id, args=cfg, train_dataset=ds, processing_class=AutoTokenizer.from_pretrained(model_id))
trainer.train()
