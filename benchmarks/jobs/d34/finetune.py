import sys
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, DataCollatorForLanguageModeling
from datasets import Dataset
tok = AutoTokenizer.from_pretrained(sys.argv[1]); model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
ds = Dataset.from_dict({"text": ["the cat sleeps .", "a dog runs .", "one old tree stands ."] * 80}).map(lambda b: tok(b["text"]), batched=True, remove_columns=["text"])
args = TrainingArguments("ft_out", num_train_epochs=1, per_device_train_batch_size=4, learning_rate=float(sys.argv[2]), max_grad_norm=0, optim="sgd", logging_steps=3, logging_nan_inf_filter=False, save_strategy="no", report_to=[], use_cpu=True, ddp_backend="gloo")
tr = Trainer(model, args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
tr.train(); tr.save_model()
if tr.is_world_process_zero(): print("Fine-tuning completed, model saved in ft_out")
