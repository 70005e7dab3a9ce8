import argparse, logging, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
logger = logging.getLogger("score")
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--file"); a = p.parse_args()
tok = AutoTokenizer.from_pretrained(a.model); logger.info("tokenizer ok: %d tokens", len(tok))
model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32).eval()
for l in open(a.file):
    ids = tok(l.strip(), return_tensors="pt")["input_ids"]
    with torch.no_grad(): print(f"{model(input_ids=ids, labels=ids).loss.item():.4f}\t{l.strip()}")
