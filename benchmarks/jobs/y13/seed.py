import json, random
from transformers import T5Config, T5ForConditionalGeneration
random.seed(0)
T5ForConditionalGeneration(T5Config(vocab_size=600, d_model=48, d_kv=12, d_ff=96, num_layers=2, num_heads=4, decoder_start_token_id=0)).save_pretrained("t5-xxs")
with open("pairs.jsonl", "w") as f:
    for _ in range(300):
        x = [random.randint(5, 599) for _ in range(20)]
        f.write(json.dumps({"input_ids": x, "labels": x[::2]}) + "\n")
