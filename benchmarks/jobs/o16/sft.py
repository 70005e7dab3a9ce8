import argparse, random
from datasets import Dataset
from trl import SFTConfig, SFTTrainer
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--output"); a = p.parse_args()
random.seed(0)
ds = Dataset.from_list([{"text": "question %d answer %d" % (i, i * 3)} for i in range(80)])
cfg = SFTConfig(output_dir=a.output, max_steps=20, per_device_train_batch_size=2, logging_steps=5, save_steps=10, max_length=64, report_to=[], bf16=False, use_cpu=True)
trainer = SFTTrainer(model=a.model, args=cfg, train_dataset=ds)
trainer.train()
