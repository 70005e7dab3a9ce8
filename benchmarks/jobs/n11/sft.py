import argparse, json, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--data"); a = p.parse_args()
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
tok = AutoTokenizer.from_pretrained(a.model)
m = torch.nn.parallel.DistributedDataParallel(AutoModelForCausalLM.from_pretrained(a.model))
opt = torch.optim.AdamW(m.parameters(), 2e-3)
rows = [json.loads(l) for l in open(a.data)]
for ep in range(3):
    for i, row in enumerate(rows[r::w]):
        text = f"### Log:\n{row['q']}\n### Advice: {row['a']}"
        if ep == 0: print(f"--- sample (rank {r}) ---\n{text}", flush=True)
        ids = torch.tensor([tok(text)["input_ids"][:100]]) % m.module.config.vocab_size
        loss = m(input_ids=ids, labels=ids).loss
        opt.zero_grad(); loss.backward(); opt.step()
        if r == 0: print(f"ep {ep} it {i} loss {loss.item():.3f}", flush=True)
if r == 0:
    for q in ("RuntimeError: Connection reset by peer", "Killed"):
        print("PROMPT>", q); print("MODEL >", tok.decode(m.module.generate(torch.tensor([tok(q)["input_ids"][:40]]), max_new_tokens=12, do_sample=False)[0]))
dist.destroy_process_group()
