import os, sys
os.environ.update(RANK=os.environ["OMPI_COMM_WORLD_RANK"], WORLD_SIZE=os.environ["OMPI_COMM_WORLD_SIZE"], LOCAL_RANK=os.environ["OMPI_COMM_WORLD_LOCAL_RANK"], MASTER_ADDR="127.0.0.1", MASTER_PORT="4119", HF_HOME=os.path.abspath("hf"))
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, DataCollatorForLanguageModeling
import torch.distributed as dist
dist.init_process_group("gloo")
r = dist.get_rank()
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
ds = load_dataset("json", data_files=f"data/part-{r}.jsonl", split="train", cache_dir=f"hf/cache{r}")
ds = ds.map(lambda e: tok(e["text"], truncation=True, max_length=32), batched=True, remove_columns=["text"])
dist.barrier()
args = TrainingArguments("out", per_device_train_batch_size=4, max_steps=10, logging_steps=2, use_cpu=True, report_to=[])
Trainer(AutoModelForCausalLM.from_pretrained(os.environ["TINY"]), args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
