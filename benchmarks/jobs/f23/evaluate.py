import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
path = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(path).eval()
print("evaluating", path, "parameters:", model.num_parameters())
tok = AutoTokenizer.from_pretrained(path)
ids = tok("the cat", return_tensors="pt").input_ids
with torch.no_grad():
    print("ppl", model(ids, labels=ids).loss.exp().item())
