from omegaconf import OmegaConf
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

cfg = OmegaConf.load("config.yaml")
tok = AutoTokenizer.from_pretrained(cfg.model)
model = AutoModelForCausalLM.from_pretrained(cfg.model)
ds = Dataset.from_list([{"text": "we train on a line of text"}] * 128)
args = SFTConfig(**OmegaConf.to_container(cfg.train, resolve=True))
print(args.output_dir, args.max_steps, "mixed precision:", "bf16" if args.bf16 else "no", flush=True)
trainer = SFTTrainer(model, args=args, train_dataset=ds, processing_class=tok)
trainer.train()
