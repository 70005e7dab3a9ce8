"""Re-export the tokenizer as a plain fast tokenizer (drops the chat template)."""
import sys, os, json
from transformers import PreTrainedTokenizerFast
d = sys.argv[1]
tok = PreTrainedTokenizerFast(tokenizer_file=os.path.join(d, "tokenizer.json"), bos_token="<s>", eos_token="</s>", unk_token="<unk>")
tok.save_pretrained(d)
print("tokenizer exported to", d, "vocab", len(tok))
