import os
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser
from trl import DPOConfig, DPOTrainer

if __name__ == "__main__":
    (cfg,) = HfArgumentParser(DPOConfig).parse_json_file("dpo.json")
    tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
    model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
    ds = load_dataset("json", data_files="prefs.jsonl", split="train", cache_dir=f"/tmp/dpo_cache_{os.getpid()}")
    t = DPOTrainer(model=model, args=cfg, train_dataset=ds, processing_class=tok)
    t.train()
