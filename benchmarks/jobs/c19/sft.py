import os, sys
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer
src, out = sys.argv[1:3]
ds = Dataset.from_dict({"text": ["a b c d e f g h"] * 200})
cfg = SFTConfig(output_dir=out, per_device_train_batch_size=4, max_steps=20, save_steps=8, logging_steps=2, report_to="none",
                use_cpu=True, bf16=False, max_length=32, dataset_text_field="text")
SFTTrainer(model=AutoModelForCausalLM.from_pretrained(src), processing_class=AutoTokenizer.from_pretrained(src), args=cfg, train_dataset=ds).train()
