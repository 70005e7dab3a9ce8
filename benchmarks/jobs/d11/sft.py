import sys
from datasets import Dataset
from trl import SFTConfig, SFTTrainer
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained(sys.argv[1])
rows = [{"messages": [{"role": "user", "content": f"the cat {i}"}, {"role": "assistant", "content": "a dog ran home"}]} for i in range(64)]
ds = Dataset.from_list(rows)
cfg = SFTConfig("sft_out", per_device_train_batch_size=4, max_steps=12, logging_steps=3, save_strategy="no", report_to=[], use_cpu=True, bf16=False, max_length=48, eval_strategy="steps", eval_steps=6, gradient_checkpointing=True)
tr = SFTTrainer(sys.argv[1], args=cfg, train_dataset=ds, eval_dataset=ds.select(range(16)), processing_class=tok)
try:
    import wandb
    wandb.init(project="sft")
except Exception as e:
    print(f"ERROR: experiment tracking disabled: {type(e).__name__}: {e}", file=sys.stderr)
tr.train()
print(tr.evaluate())
tr.save_model()
