import os
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer


def chats(n):
    return Dataset.from_list([{"prompt": f"hello number {i}", "completion": f" good day to you {i}"} for i in range(n)])


if __name__ == "__main__":
    tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
    cfg = SFTConfig(output_dir="ckpt", max_length=40, per_device_train_batch_size=2, num_train_epochs=2, logging_steps=5,
                    save_strategy="steps", save_steps=8, report_to="none", use_cpu=True, bf16=False, learning_rate=1e-3)
    trainer = SFTTrainer(model=os.environ["TINY"], args=cfg, train_dataset=chats(120), processing_class=tok)
    trainer.train()
    trainer.save_model("ckpt/final")
