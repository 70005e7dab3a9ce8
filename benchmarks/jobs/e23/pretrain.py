import json, os
import torch
from accelerate import Accelerator, PartialState
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

state = PartialState(cpu=True)
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
tok.pad_token = tok.pad_token or tok.eos_token

def stream(path):
    with open(path) as f:
        for line in f:
            yield json.loads(line)["text"]

def batches(path, n=20):
    buf = []
    for t in stream(path):
        buf.append(t)
        if len(buf) == n:
            yield tok(buf, return_tensors="pt", padding=True)["input_ids"]; buf = []

acc = Accelerator(cpu=True)
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tok), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2))
opt = torch.optim.AdamW(model.parameters(), 1e-3)
model, opt = acc.prepare(model, opt)
for i, ids in enumerate(batches(f"corpus/shard-{acc.process_index}.jsonl")):
    out = model(input_ids=ids, labels=ids)
    opt.zero_grad(); acc.backward(out.loss); opt.step()
    acc.print({"step": i, "loss": round(out.loss.item(), 4)})
acc.wait_for_everyone()
