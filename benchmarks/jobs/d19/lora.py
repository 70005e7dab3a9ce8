import sys, os, warnings, torch
from peft import LoraConfig, get_peft_model, PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, DataCollatorForLanguageModeling
from datasets import Dataset
src = sys.argv[1]
tok = AutoTokenizer.from_pretrained(src)
base = AutoModelForCausalLM.from_pretrained(src, torch_dtype=torch.float32)
model = get_peft_model(base, LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", fan_in_fan_out=True))
model.print_trainable_parameters()
ds = Dataset.from_dict({"text": ["the dog sat on a mat " * 20, "we train the model"] * 40}).map(lambda b: tok(b["text"]), batched=True, remove_columns=["text"], num_proc=2)
ds = ds.map(lambda b: {k: [v[:64] for v in b[k]] for k in b}, batched=True)
args = TrainingArguments("lora_out", max_steps=15, per_device_train_batch_size=4, logging_steps=5, report_to=[], use_cpu=True, ddp_backend="gloo", ddp_find_unused_parameters=True, gradient_checkpointing=True, dataloader_num_workers=8, dataloader_pin_memory=True, save_strategy="no", warmup_ratio=0.1, fp16=False)
tr = Trainer(model, args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
tr.train()
if tr.is_world_process_zero():
    model.save_pretrained("lora_out/adapter")
    m2 = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(src), "lora_out/adapter")
    print(tok.decode(m2.generate(**{k: v for k, v in tok("the dog", return_tensors="pt").items() if k != "token_type_ids"}, max_new_tokens=5, temperature=0.7, do_sample=False)[0]))
    warnings.warn("adapter was saved without merging", UserWarning)
