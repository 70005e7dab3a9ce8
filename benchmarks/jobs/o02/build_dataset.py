import argparse, logging
from datasets import load_dataset
from transformers import AutoTokenizer
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("build_dataset")

def to_features(ex):
    turns = ex["conversations"]
    text = "\n".join(f"{t['role']}: {t['content'].strip()}" for t in turns)
    ids = tok(text, truncation=True, max_length=128)["input_ids"]
    return {"input_ids": ids, "n": len(ids)}

if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--src"); p.add_argument("--tokenizer"); p.add_argument("--workers", type=int)
    a = p.parse_args()
    tok = AutoTokenizer.from_pretrained(a.tokenizer)
    ds = load_dataset("json", data_files=a.src, split="train", cache_dir=".hfcache")
    log.info("loaded %d conversations", len(ds))
    ds = ds.map(to_features, num_proc=a.workers, remove_columns=ds.column_names, desc="tokenize")
    ds.save_to_disk("tokenized")
    log.info("done, %d tokens", sum(ds["n"]))
