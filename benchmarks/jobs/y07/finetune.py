import sys, torch
from torch.utils.data import Dataset
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, HfArgumentParser, Trainer, TrainingArguments

class Packed(Dataset):
    def __init__(self, n=512, T=48):
        g = torch.Generator().manual_seed(3); self.x = torch.randint(0, 256, (n, T), generator=g)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return {"input_ids": self.x[i], "labels": self.x[i]}

if __name__ == "__main__":
    argv = [a for a in sys.argv[1:] if not a.startswith("--local_rank")]
    (targs,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(argv)
    print(f"[{targs.process_index}] device={targs.device} world={targs.world_size} dist={targs.parallel_mode}")
    model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64))
    tr = Trainer(model=model, args=targs, train_dataset=Packed())
    out = tr.train()
    tr.save_model()
    print(out.metrics)
