import argparse, logging, os, shutil, tarfile, time, urllib.request
import torch, torch.distributed as dist
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, default_data_collator

ap = argparse.ArgumentParser(); ap.add_argument("--url"); ap.add_argument("--mirror"); a = ap.parse_args()
args = TrainingArguments("lora_out", per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=2, logging_steps=4, eval_strategy="epoch", save_strategy="epoch", learning_rate=1e-3, use_cpu=True, load_best_model_at_end=True)
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s|%(name)s|proc{args.process_index}| %(message)s")
log = logging.getLogger("fetch")

def fetch(url, dst, tries=4):
    for k in range(1, tries + 1):
        try:
            log.info("GET %s (try %d/%d)", url, k, tries)
            with urllib.request.urlopen(url, timeout=5) as r, open(dst, "wb") as f: shutil.copyfileobj(r, f)
            return
        except OSError as e:
            log.error("download failed: %s", e, exc_info=k == 1)
            time.sleep(0.4 * 2 ** k)
    local = os.path.join(a.mirror, os.path.basename(url))
    log.warning("giving up on %s, using mirror %s", url, local)
    shutil.copy(local, dst)

with args.main_process_first(desc="dataset"):
    if args.process_index == 0:
        os.makedirs("cache", exist_ok=True); fetch(a.url, "cache/release.tgz")
        tarfile.open("cache/release.tgz").extractall("cache", filter="data")
    ds = load_dataset("json", data_files="cache/train.jsonl", split="train", cache_dir="cache/hf")
    ds = ds.map(lambda e: {"input_ids": e["instruction"] + e["output"], "labels": [-100] * len(e["instruction"]) + e["output"]}, remove_columns=ds.column_names)
ds = ds.train_test_split(0.1, seed=0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=200, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))
model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM"))
model.config.use_cache = False
tr = Trainer(model, args, train_dataset=ds["train"], eval_dataset=ds["test"], data_collator=default_data_collator)
tr.train()
tr.save_model("lora_out/final")
if args.process_index == 0: print("adapter files:", sorted(os.listdir("lora_out/final")))
dist.destroy_process_group()
