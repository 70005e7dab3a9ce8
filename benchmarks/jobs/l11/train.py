import os, torch, torch.distributed as dist
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer
dist.init_process_group("gloo"); rank = dist.get_rank()
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
m = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
ddp = torch.nn.parallel.DistributedDataParallel(m)
opt = torch.optim.AdamW(ddp.parameters(), lr=5e-4)
ids = torch.randint(0, m.config.vocab_size, (4, 32))
bar = tqdm(range(60), disable=rank != 0, desc="train")
for _ in bar:
    loss = ddp(input_ids=ids, labels=ids).loss
    loss.backward(); opt.step(); opt.zero_grad()
    bar.set_postfix(loss=f"{loss.item():.3f}")
dist.barrier()
if rank == 0:
    print("***** Training completed *****")
    print(f"final loss {loss.item():.4f}, exporting to models/assistant-v2")
    m.save_pretrained("models/assistant-v2")
    tok.save_pretrained("models/assistant-v2")
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} exits")
