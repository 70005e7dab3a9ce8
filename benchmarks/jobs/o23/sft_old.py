# instruction tuning recipe (lab wiki, 2023)
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import SFTTrainer
model = AutoModelForCausalLM.from_pretrained("model")
tok = AutoTokenizer.from_pretrained("model")
ds = Dataset.from_list([{"text": "### Human: say hi %d ### Assistant: hi" % i} for i in range(40)])
print("examples:", len(ds))
args = TrainingArguments("sft-out", per_device_train_batch_size=2, max_steps=10, report_to=[], use_cpu=True)
trainer = SFTTrainer(model, args=args, train_dataset=ds, tokenizer=tok, dataset_text_field="text", max_seq_length=128, packing=False, peft_config=LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM"))
trainer.train()
