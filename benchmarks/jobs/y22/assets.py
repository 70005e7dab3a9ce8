import json, random
from transformers import GPT2Config, GPT2LMHeadModel
random.seed(8)
GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=256, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)).save_pretrained("model")
with open("suite.jsonl", "w") as f:
    for i in range(240):
        call = {"name": random.choice(["get_weather", "add_event", "convert"]), "arguments": {"x": random.randint(1, 50), "y": random.randint(0, 6)}}
        ref = json.dumps(call)
        if random.random() < .06: ref = ref[:-random.randint(1, 9)]        # wie vom Annotationstool geliefert
        if random.random() < .04: ref = ref.replace("arguments", "args")
        f.write(json.dumps({"id": f"fc-{i:04d}", "prompt": f"call {i}: use x and y", "reference": ref}) + "\n")
print("suite.jsonl 240 samples")
