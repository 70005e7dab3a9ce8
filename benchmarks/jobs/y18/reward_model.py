import argparse, sys
import torch, torch.distributed as dist
from transformers import GPT2Config, GPT2ForSequenceClassification

def p0(*a):
    if dist.get_rank() == 0: print("RM", *a); sys.stdout.flush()

ap = argparse.ArgumentParser(); ap.add_argument("--pairs", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); torch.set_num_threads(1)
g = torch.Generator().manual_seed(dist.get_rank())
net = torch.nn.parallel.DistributedDataParallel(GPT2ForSequenceClassification(GPT2Config(vocab_size=300, n_positions=256, n_embd=48, n_layer=2, n_head=4, num_labels=1, pad_token_id=0, bos_token_id=0, eos_token_id=0)))
opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
n = a.pairs // dist.get_world_size() // 4 * 4
for ep in range(80):
    for i in range(0, n, 4):
        good = torch.randint(150, 300, (4, 64), generator=g); bad = torch.randint(1, 200, (4, 64), generator=g)
        r = net(input_ids=torch.cat([good, bad])).logits[:, 0]
        loss = -torch.nn.functional.logsigmoid(r[:4] - r[4:]).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if (i // 4) % 2 == 0: p0(f"epoch={ep} pairs={i}/{n} loss={loss.item():.4f} margin={(r[:4]-r[4:]).mean().item():+.3f} acc={(r[:4]>r[4:]).float().mean().item():.2f}")
if dist.get_rank() == 0: torch.save(net.module.state_dict(), "rm.pt")
dist.destroy_process_group()
