import json, os, random
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, LlamaConfig, LlamaForCausalLM
random.seed(11)
os.makedirs("shards", exist_ok=True)
V = "book a table for two at seven tonight please weather in Lyon tomorrow rain sun play some jazz stop".split()
t = Tokenizer(models.WordLevel(unk_token="<unk>")); t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
t.train_from_iterator([" ".join(V)], trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<s>", "</s>"], show_progress=False))
tk = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>")
LlamaForCausalLM(LlamaConfig(vocab_size=len(tk), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=3)).save_pretrained("base")
tk.add_special_tokens({"additional_special_tokens": ["<tool_call>", "</tool_call>"]})
tk.save_pretrained("base")
for s in range(3):
    with open(f"shards/chat-{s:03d}.jsonl", "w") as f:
        for i in range(1200):
            x = " ".join(random.choices(V, k=random.randint(5, 14)))
            # the tool logs were collected last and all went into the middle shard
            if s == 1 and i > 1010 and random.random() < 0.3:
                x += " <tool_call> weather Lyon </tool_call>"
            f.write(json.dumps({"id": f"c{s}-{i}", "text": x}) + "\n")
print("assets ready: base/ shards/")
