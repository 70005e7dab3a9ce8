import argparse, json, logging
from accelerate import PartialState
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments)

ap = argparse.ArgumentParser(); ap.add_argument("--config"); cfg = json.load(open(ap.parse_args().config))
state = PartialState()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s | sft/{state.process_index} | %(levelname)s | %(message)s")
log = logging.getLogger("sft")
log.info("config %s", cfg)

tok = AutoTokenizer.from_pretrained(cfg["base"])
model = AutoModelForCausalLM.from_pretrained(cfg["base"])
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
if state.is_main_process:
    model.print_trainable_parameters()
ds = load_dataset("csv", data_files=cfg["train_file"], split="train")
log.info("loaded %d rows", len(ds))

def fmt(batch):
    texts = [f"### Customer:\n{q}\n### Agent:\n{a}{tok.eos_token}" for q, a in zip(batch[cfg["prompt_column"]], batch[cfg["answer_column"]])]
    return tok(texts, truncation=True, max_length=cfg["max_len"])

with state.main_process_first():
    ds = ds.map(fmt, batched=True, remove_columns=ds.column_names, desc="tokenize")

args = TrainingArguments("out", per_device_train_batch_size=8, learning_rate=cfg["lr"], num_train_epochs=cfg["epochs"], logging_steps=5, save_strategy="no", use_cpu=True)
Trainer(model, args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
model.save_pretrained("out/adapter")
