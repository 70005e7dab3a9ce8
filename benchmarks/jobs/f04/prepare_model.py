import os
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig
t = AutoTokenizer.from_pretrained(os.environ["TINY"]); t.pad_token = None; t.save_pretrained("base")
m = AutoModelForCausalLM.from_pretrained(os.environ["TINY"]); m.config.pad_token_id = None; m.generation_config.pad_token_id = None; m.save_pretrained("base")
import json
c = json.load(open("base/tokenizer_config.json")); c.pop("pad_token", None); json.dump(c, open("base/tokenizer_config.json", "w"), indent=1)
