import os
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
from model import LlamaWithReward

tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
model = LlamaWithReward.from_pretrained(os.environ["TINY"])
data = [tok(f"sample {i} for stage one") for i in range(200)]
args = TrainingArguments("stage1", per_device_train_batch_size=4, max_steps=40, logging_steps=1, report_to="none", use_cpu=True,
                         ddp_find_unused_parameters=False, save_strategy="no")
Trainer(model, args, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
