import os, sys
from datasets import Dataset
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
cfg = LlamaConfig(vocab_size=len(tok), hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4, pad_token_id=tok.pad_token_id)
model = LlamaForCausalLM(cfg)
print("params", model.num_parameters())
ds = Dataset.from_list([{"text": "a small line of text"}] * 200).map(lambda r: tok(r["text"]), remove_columns="text")
args = TrainingArguments(sys.argv[1], max_steps=60, save_steps=10, logging_steps=5, per_device_train_batch_size=4, report_to=[], save_total_limit=5)
Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
