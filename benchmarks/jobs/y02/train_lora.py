import argparse, os
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model"); ap.add_argument("--lora-targets"); ap.add_argument("--rank", type=int, default=8)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    r, w = dist.get_rank(), dist.get_world_size()
    print(f"({r}/{w}) Prozessgruppe bereit, lade {args.model}")
    tok = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model)
    print(f"({r}/{w}) {sum(p.numel() for p in model.parameters())/1e3:.1f}k Parameter, Schichten: {type(model).__name__}")
    lc = LoraConfig(r=args.rank, lora_alpha=32, lora_dropout=0.05, target_modules=args.lora_targets.split(","), task_type="CAUSAL_LM")
    model = get_peft_model(model, lc)
    model.print_trainable_parameters()
    ddp = DDP(model)
    ds = load_dataset("json", data_files="data/train.jsonl", split="train").shard(w, r)
    opt = torch.optim.AdamW([p for p in ddp.parameters() if p.requires_grad], lr=1e-3)
    for i in range(0, len(ds), 8):
        b = tok(ds[i:i + 8]["text"], padding=True, return_tensors="pt", return_token_type_ids=False)
        loss = ddp(**b, labels=b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)).loss
        loss.backward(); opt.step(); opt.zero_grad()
        if r == 0: print("Schritt", i // 8, "loss", round(loss.item(), 4))
    dist.barrier(); dist.destroy_process_group()

if __name__ == "__main__":
    main()
